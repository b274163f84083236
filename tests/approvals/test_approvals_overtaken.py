"""A question that comes instead of an approval: until it is answered what waited waits on, from then on it is closed."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from agent.errors import (
    AgentError,
    ModelThrottledError,
    ModelUnavailableError,
    NotFoundError,
    SessionBusyError,
)
from agent.ports import ModelReply
from tests.agent.edge.desk import DAY, FAULTS
from tests.approvals.office import Office
from tests.fakes import asks, reply, use


def test_a_question_that_is_answered_closes_what_waited(office: Office) -> None:
    office.wait()
    answer = office.ask(reply("Sure."), text="and something else?")
    assert (answer["turn"], answer["answer"]) == (2, "Sure.")
    with pytest.raises(NotFoundError):
        office.approve(t1=True)
    assert office.ran == []
    assert "waiting" not in office.items()[0]
    office.goes_on()
    assert "another question came" in json.dumps(office.model.requests[-1].messages)


def test_the_new_question_itself_is_told_what_became_of_the_waiting_call(office: Office) -> None:
    office.wait()
    office.ask(reply("No."), text="was it paid?")
    assert "another question came" in json.dumps(office.model.requests[-1].messages)


def test_a_question_that_fails_leaves_what_waits_waiting(office: Office) -> None:
    office.wait(use("t1", "refund", {"order": "1"}), use("t2", "refund", {"order": "2"}))
    office.approve(t1=True)
    shown = office.sessions().read(office.key)
    with pytest.raises(ModelThrottledError):
        office.ask(ModelThrottledError(), text="and something else?")
    assert office.sessions().read(office.key) == shown
    assert office.item()["lease_until"] == 0
    assert office.item()["waiting"] == "owner"
    answer = office.approve(reply("Done."), t2=True)
    assert (answer["answer"], office.ran) == ("Done.", ["refund 1 1", "refund 2 1"])


def test_any_number_of_questions_may_fail_before_the_yes(office: Office) -> None:
    office.wait()
    for _ in range(3):
        with pytest.raises(ModelThrottledError):
            office.ask(ModelThrottledError(), text="and something else?")
    office.approve(reply("Done."), t1=True)
    assert (office.ran, office.statuses()) == (["refund 7 1"], ["done"])


def test_the_lease_lies_on_what_waits_before_the_question_is_reserved(office: Office) -> None:
    office.wait()
    office.client.calls.clear()
    seen: list[dict[str, Any]] = []

    def look(request: Any, deadline: Any) -> ModelReply:
        seen.extend(office.items())
        return reply("Sure.")

    office.ask(look, text="and something else?")
    assert office.client.operations == ["query", "update_item", "put_item", "update_item", "update_item"]
    waits, runs = seen
    assert (waits["status"], runs["status"]) == ({"S": "awaiting_approval"}, {"S": "running"})
    assert (waits["lease_id"], waits["lease_until"]) == (runs["lease_id"], runs["lease_until"])


@pytest.mark.parametrize("pairs", [0, 1, 2])
def test_a_question_where_something_waited_takes_six_calls_at_most(office: Office, pairs: int) -> None:
    office.pairs = pairs
    for _ in range(2):
        office.ask(reply("hello"))
    office.wait()
    office.client.calls.clear()
    office.ask(reply("Sure."), text="and something else?")
    assert len(office.client.calls) <= 6


def test_while_the_question_is_being_answered_nobody_approves(office: Office) -> None:
    office.wait()
    told: list[int | None] = []

    def meanwhile(request: Any, deadline: Any) -> ModelReply:
        for act in (lambda: office.approve(t1=True), lambda: office.sessions().forget(office.key)):
            with pytest.raises(SessionBusyError) as caught:
                act()
            told.append(caught.value.retry_after)
        return reply("Sure.")

    office.ask(meanwhile, text="and something else?")
    assert told == [65, 65]
    assert office.ran == []


def test_while_another_question_is_being_answered_a_known_yes_gets_its_answer(office: Office) -> None:
    office.wait()
    done, answers = office.approve(reply("Done."), t1=True), list[Any]()

    def meanwhile(request: Any, deadline: Any) -> ModelReply:
        answers.append(office.approve(t1=True))
        return reply("Sure.")

    office.ask(meanwhile, text="and something else?")
    assert (answers, office.ran) == ([done], ["refund 7 1"])


def test_between_the_lease_and_the_turn_of_the_question_nobody_approves(office: Office) -> None:
    office.wait()
    told: list[str] = []

    def plan(operation: str, count: int) -> None:
        if operation == "put_item" and not told:
            told.append("")
            with pytest.raises(SessionBusyError):
                office.approve(t1=True)
            told.append("busy")

    office.client.before = plan
    office.ask(reply("Sure."), text="and something else?")
    assert (told, office.ran) == (["", "busy"], [])


@pytest.mark.parametrize("pairs", [0, 1, 10])
def test_a_question_whose_process_died_leaves_what_waits_waiting(office: Office, pairs: int) -> None:
    office.pairs = pairs
    waiting = office.wait(request="r")
    with pytest.raises(ModelUnavailableError):
        office.ask(office.die, text="and something else?")
    office.mend()
    with pytest.raises(SessionBusyError):
        office.approve(t1=True)
    office.live_again()
    assert office.ask(request="r") == waiting  # the same request still gets it
    answer = office.approve(reply("Done."), t1=True)
    assert (answer["turn"], office.ran) == (1, ["refund 7 1"])
    assert len(office.items()) == min(pairs, 1)
    office.goes_on()


def test_a_question_after_one_whose_process_died_overtakes_too(office: Office) -> None:
    office.wait()
    with pytest.raises(ModelUnavailableError):
        office.ask(office.die, text="and something else?")
    office.live_again()
    assert office.ask(reply("Sure."), text="once more?")["turn"] == 2
    with pytest.raises(NotFoundError):
        office.approve(t1=True)
    assert office.ran == []


def test_a_question_that_stood_still_until_a_yes_came_changes_nothing_any_more(office: Office) -> None:
    office.wait()

    def stand_still(request: Any, deadline: Any) -> ModelReply:
        office.clock.advance(70)
        office.approve(reply("Done."), t1=True)
        return reply("Sure.")

    assert office.ask(stand_still, text="and something else?")["saved"] is False
    assert office.ran == ["refund 7 1"]
    assert [turn["answer"] for turn in office.sessions().read(office.key)] == ["Done."]


ENDS: dict[str, list[Any]] = {
    "done": [reply("Sure.")],
    "blocked": [reply("Blocked.", stop_reason="guardrail_intervened")],
    "waiting": [asks(use("t2", "refund", {"order": "8"}))],
}


@pytest.mark.parametrize("cleared", [True, False], ids=["taken out of what waits", "left as it was"])
@pytest.mark.parametrize("end", ENDS)
def test_every_end_of_a_later_turn_closes_what_waited(office: Office, end: str, cleared: bool) -> None:
    office.wait()
    if not cleared:
        _forbid(office, "REMOVE")
    answer = office.ask(*ENDS[end], text="and something else?")
    assert answer.get("saved", True)
    office.mend()
    assert ("waiting" in office.items()[0]) is not cleared
    with pytest.raises(AgentError) as caught:
        office.decide({office.ids["t1"]: True})
    assert caught.value.code == ("invalid_request" if end == "waiting" else "not_found")
    assert office.ran == []
    if end == "waiting":
        office.approve(reply("Done."), t2=True)
        assert office.ran == ["refund 8 1"]
    office.goes_on()


def test_a_later_turn_that_was_written_down_before_side_effects_closes_what_waited(office: Office) -> None:
    office.wait()
    with pytest.raises(ModelUnavailableError):
        office.ask(asks(use("t2", "write")), office.die, text="write it")
    office.live_again()
    with pytest.raises(NotFoundError):
        office.approve(t1=True)
    with pytest.raises(ModelThrottledError):
        office.ask(ModelThrottledError(), text="and something else?")
    with pytest.raises(NotFoundError):
        office.approve(t1=True)
    assert office.ran == ["write blank"]
    office.goes_on()


def test_an_answer_that_could_not_be_saved_closes_nothing(office: Office) -> None:
    office.wait()
    _forbid(office, "#0=")
    assert office.ask(reply("Sure."), text="and something else?")["saved"] is False
    office.mend()
    office.approve(reply("Done."), t1=True)
    assert (office.ran, office.statuses()) == (["refund 7 1"], ["done"])


@pytest.mark.parametrize("cleared", [True, False], ids=["taken out of what waits", "left as it was"])
def test_a_closed_turn_is_shown_as_done_and_its_calls_as_denied(office: Office, cleared: bool) -> None:
    waiting = office.wait(use("t1", "refund", {"order": "1"}), use("t2", "look"), request="r")
    if not cleared:
        _forbid(office, "REMOVE")
    office.ask(reply("Sure."), text="and something else?")
    office.mend()
    first, _ = office.sessions().read(office.key)
    assert (first["stop_reason"], "approvals" in first) == ("end_turn", False)
    assert first["answer"] == f"{waiting['answer']} It was not given: another question came."
    assert [(used["name"], used["status"]) for used in first["tool_uses"]] == [("refund", "error"), ("look", "error")]
    again = office.ask(request="r")
    assert (again["answer"], again["stop_reason"], "approvals" in again) == (first["answer"], "end_turn", False)


def test_a_closed_turn_counts_as_a_pair(office: Office) -> None:
    office.pairs = 2
    office.ask(reply("one"))
    office.wait()
    office.ask(reply("three"), text="and something else?")
    assert [turn["turn"] for turn in office.sessions().read(office.key)] == [2, 3]
    assert [int(item["turn"]["N"]) for item in office.items()] == [2, 3]


def test_what_was_decided_before_the_turn_was_closed_is_still_answered(office: Office) -> None:
    office.wait(use("t1", "refund", {"order": "1"}), use("t2", "refund", {"order": "2"}))
    office.approve(t1=True)
    office.ask(reply("Sure."), text="and something else?")
    assert office.approve(t1=True)["stop_reason"] == "end_turn"
    for verdicts in ({"t2": True}, {"t1": True, "t2": True}, {"t2": False}):
        with pytest.raises(NotFoundError):
            office.decide(verdicts)
    assert office.ran == []


def test_where_nothing_is_kept_the_waiting_item_is_gone_before_the_question(office: Office) -> None:
    office.pairs = 0
    office.wait()
    deleted: list[str] = []

    def note(operation: str, count: int) -> None:
        if operation == "delete_item":
            deleted.append(office.client.calls[-1][1]["Key"]["turn"]["N"])

    office.client.before = note
    assert office.ask(reply("Sure."), text="and something else?").get("saved", True)
    assert deleted[:2] == ["1", "2"]
    assert office.items() == []
    with pytest.raises(NotFoundError):
        office.approve(t1=True)


def test_where_nothing_is_kept_and_the_waiting_item_can_not_be_deleted_nothing_is_closed(office: Office) -> None:
    office.pairs = 0
    office.wait()
    _forbid_deleting(office, "1")
    assert office.ask(reply("Sure."), text="and something else?")["saved"] is False
    office.mend()
    assert office.statuses() == ["awaiting_approval"]
    office.approve(reply("Done."), t1=True)
    assert office.ran == ["refund 7 1"]


def test_where_nothing_is_kept_an_item_that_somebody_else_has_is_not_deleted(office: Office) -> None:
    office.pairs = 0
    office.wait()

    def take(request: Any, deadline: Any) -> ModelReply:
        turn = office.sessions().store.get(office.key, 1, office.clock.deadline(9))
        assert turn
        office.sessions().store.lease(replace(turn, lease_id="another"), turn, office.clock(), office.clock.deadline(9))
        return reply("Sure.")

    assert office.ask(take, text="and something else?")["saved"] is False
    assert (office.statuses()[0], office.items()[0]["lease_id"]["S"]) == ("awaiting_approval", "another")


def test_where_nothing_is_kept_a_turn_that_waits_closes_the_one_before_it_for_good(office: Office) -> None:
    office.pairs = 0
    office.wait()
    first = office.ids["t1"]
    _forbid(office, "REMOVE")
    office.wait(use("t2", "refund", {"order": "8"}))
    office.mend()
    _forbid_deleting(office, "1")
    office.approve(reply("Done."), t2=True)  # what closed the first one must stay while that is there
    office.mend()
    with pytest.raises(AgentError):
        office.decide({first: True})
    assert office.ran == ["refund 8 1"]


def test_what_closes_a_turn_is_kept_as_long_as_its_item_may_be_there(office: Office) -> None:
    office.approval_seconds = 40 * DAY  # longer than a turn is kept
    office.wait()
    _forbid(office, "REMOVE")
    office.ask(reply("Sure."), text="and something else?")
    office.mend()
    first, second = office.items()
    assert int(second["expires_at"]["N"]) >= int(first["expires_at"]["N"])
    office.clock.advance(35 * DAY)
    with pytest.raises(NotFoundError):
        office.approve(t1=True)
    assert office.ran == []


def test_a_lost_lease_is_told_by_the_store(office: Office) -> None:
    office.wait()
    turn = office.sessions().store.get(office.key, 1, office.clock.deadline(9))
    assert turn
    with pytest.raises(SessionBusyError):
        office.sessions().store.free(replace(turn, lease_id="another"), office.clock.deadline(9))


def test_nothing_is_approved_while_another_turn_runs(office: Office) -> None:
    office.put_running()
    with pytest.raises(SessionBusyError):
        office.approve(t1=True)


def _forbid(office: Office, words: str) -> None:
    """Has every update fail whose expression holds these words."""

    def plan(operation: str, count: int) -> Exception | None:
        expression = office.client.calls[-1][1].get("UpdateExpression", "")
        return FAULTS[-1] if words in expression else None

    office.client.before = plan


def _forbid_deleting(office: Office, turn: str) -> None:
    def plan(operation: str, count: int) -> Exception | None:
        parameters = office.client.calls[-1][1]
        return FAULTS[-1] if operation == "delete_item" and parameters["Key"]["turn"]["N"] == turn else None

    office.client.before = plan
