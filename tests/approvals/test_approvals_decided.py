"""What comes of a yes, a no, half an answer, a late one, a second one, and one for nothing."""

from collections.abc import Mapping

import pytest

from agent.errors import InvalidRequestError, NotFoundError
from agent.tooling.tool import tool
from tests.agent.edge.desk import DAY
from tests.approvals.office import Office
from tests.fakes import asks, reply, use


def test_an_approved_call_runs_once_and_the_turn_goes_on_to_its_answer(office: Office) -> None:
    office.wait()
    answer = office.approve(reply("Done.", tokens=4), t1=True)
    assert (answer["answer"], answer["turn"], answer["stop_reason"]) == ("Done.", 1, "end_turn")
    assert "approvals" not in answer
    assert office.ran == ["refund 7 1"]
    assert office.results() == ['[{"text": "refunded"}]']
    assert office.statuses() == ["done"]
    assert office.sessions().read(office.key)[0]["answer"] == "Done."
    office.goes_on()


def test_the_whole_step_runs_once_all_is_decided(office: Office) -> None:
    office.wait(use("t1", "refund", {"order": "1"}), use("t2", "look"), use("t3", "write"), use("t4", "nothing"))
    answer = office.approve(reply("Done."), t1=True)
    assert sorted(office.ran) == ["look", "refund 1 1", "write blank"]
    assert [used["status"] for used in answer["tool_uses"]] == ["success", "success", "success", "error"]
    office.goes_on()


@pytest.mark.parametrize(("said", "told"), [(False, "Denied by a person."), ("Too dear.", "Too dear.")])
def test_a_denied_call_is_not_run_and_the_model_is_told_why(office: Office, said: bool | str, told: str) -> None:
    office.wait(use("t1", "refund", {"order": "1"}), use("t2", "look"))
    answer = office.approve(reply("As you wish."), t1=said)
    assert (answer["answer"], office.ran) == ("As you wish.", ["look"])
    assert told in office.results()[0]
    assert [used["status"] for used in answer["tool_uses"]] == ["error", "success"]
    office.goes_on()


def test_an_approval_that_comes_too_late_counts_as_a_no(office: Office) -> None:
    office.wait()
    office.clock.advance(DAY)
    answer = office.approve(reply("Too late."), t1=True)
    assert (answer["answer"], office.ran) == ("Too late.", [])
    assert office.results() == ['[{"text": "The approval came too late."}]']
    assert office.decisions()["t1"]["approved"] is False
    assert not any(approved for *_, approved, _ in office.journal.approvals)
    office.goes_on()


def test_an_approval_just_in_time_counts(office: Office) -> None:
    office.wait()
    office.clock.advance(DAY - 1)
    office.approve(reply("Done."), t1=True)
    assert office.ran == ["refund 7 1"]


def test_an_approval_is_kept_as_long_as_it_was_promised_however_short_turns_are_kept(office: Office) -> None:
    office.approval_seconds = 40 * DAY
    answer = office.wait()
    assert office.item()["expires_at"] == office.clock() + 40 * DAY
    office.clock.advance(35 * DAY)  # turns are kept for 30
    office.approve(reply("Done."), t1=True)
    assert office.ran == ["refund 7 1"]
    assert answer["approvals"][0]["expires_at"] == "2027-02-24T08:00:00Z"
    assert office.item()["expires_at"] == office.clock() + 30 * DAY  # anew, since it was answered today


def test_a_turn_that_has_expired_itself_waits_no_longer(office: Office) -> None:
    office.wait(request="r")
    office.clock.advance(31 * DAY)
    with pytest.raises(NotFoundError):
        office.approve(t1=True)
    assert "approvals" not in office.ask(reply("Anew."), request="r")


def _two(office: Office) -> None:
    office.wait(use("t1", "refund", {"order": "1"}), use("t2", "refund", {"order": "2"}))


def test_half_an_answer_is_kept_and_the_rest_still_waits(office: Office) -> None:
    _two(office)
    answer = office.approve(t2=True)
    assert answer["stop_reason"] == "awaiting_approval"
    assert [each["tool_use_id"] for each in answer["approvals"]] == ["t1"]
    assert (office.statuses(), office.ran) == (["awaiting_approval"], [])
    assert office.sessions().read(office.key)[0]["stop_reason"] == "awaiting_approval"
    answer = office.approve(reply("Half done."), t1="Not this one.")
    assert (answer["answer"], office.ran) == ("Half done.", ["refund 2 1"])
    assert "Not this one." in office.results()[0]
    assert {name: one["approved"] for name, one in office.decisions().items()} == {"t1": False, "t2": True}
    office.goes_on()


def test_the_same_approval_again_gets_the_same_answer_and_runs_nothing(office: Office) -> None:
    office.wait()
    answer = office.approve(reply("Done."), t1=True)
    assert office.approve(t1=True) == answer
    assert office.ran == ["refund 7 1"]


@pytest.mark.parametrize("stop_reason", ["guardrail_intervened", "content_filtered"])
def test_the_same_approval_again_runs_no_turn_that_a_guardrail_has_stopped(office: Office, stop_reason: str) -> None:
    office.wait()
    answer = office.approve(reply("Blocked.", stop_reason=stop_reason), t1=True)
    assert office.statuses() == ["blocked"]
    assert office.approve(t1=True) == answer
    assert office.statuses() == ["blocked"]


@pytest.mark.parametrize("first", [True, False])
def test_the_other_verdict_for_a_decided_call_is_refused(office: Office, first: bool) -> None:
    office.wait()
    office.approve(reply("I see."), t1=first)
    before, ran = office.items(), list(office.ran)
    with pytest.raises(InvalidRequestError, match="decided otherwise"):
        office.approve(t1=not first)
    assert (office.items(), office.ran) == (before, ran)


@pytest.mark.parametrize("others", [{}, {"t2": True}])
def test_the_other_verdict_decides_nothing_beside_it(office: Office, others: Mapping[str, bool]) -> None:
    _two(office)
    office.approve(t1=False)
    with pytest.raises(InvalidRequestError, match="decided otherwise"):
        office.decide({"t1": True, **others})
    assert (list(office.decisions()), office.ran) == (["t1"], [])


def test_a_yes_for_one_of_two_that_is_sent_twice_gets_the_answer_that_it_got(office: Office) -> None:
    _two(office)
    first = office.approve(t1=True)
    assert office.approve(t1=True) == first
    assert (office.statuses(), office.ran) == (["awaiting_approval"], [])
    assert len(office.journal.approvals) == 1


def test_decisions_that_are_known_may_stand_beside_new_ones(office: Office) -> None:
    _two(office)
    office.approve(t1=True)
    answer = office.approve(reply("Done."), t1=True, t2="No.")
    assert (answer["answer"], office.ran) == ("Done.", ["refund 1 1"])
    assert office.approve(t1=True, t2=False) == answer  # the reason isn't compared
    assert office.approve(t2="Another reason.") == answer


def test_decisions_again_get_the_answer_that_the_turn_has_now(office: Office) -> None:
    office.wait()
    second = office.approve(asks(use("t2", "refund", {"order": "8"})), t1=True)
    assert second["stop_reason"] == "awaiting_approval"
    assert office.approve(t1=True) == second
    last = office.approve(reply("Done."), t2=True)
    assert office.approve(t1=True) == office.approve(t2=True) == office.approve(t1=True, t2=True) == last
    assert office.ran == ["refund 7 1", "refund 8 1"]


def test_decisions_again_are_known_in_every_turn_that_is_kept(office: Office) -> None:
    office.wait()
    answer = office.approve(reply("Done."), t1=True)
    yes = dict(office.ids)
    office.ask(reply("Sure."), text="and now?")
    assert office.approve(t1=True) == answer
    office.wait(use("t2", "refund", {"order": "8"}))
    assert office.approve(t1=True) == answer  # while something else waits
    assert office.ids["t1"] == yes["t1"]
    office.approve(reply("Both."), t1=True, t2=True)
    assert office.ran == ["refund 7 1", "refund 8 1"]


def test_a_yes_that_came_too_late_may_be_sent_again(office: Office) -> None:
    _two(office)
    office.clock.advance(DAY)
    answer = office.approve(reply("Too late."), t1=True)
    assert office.approve(t1=True) == office.approve(t2=False) == answer
    assert office.ran == []


@pytest.mark.parametrize("verdicts", [{"t9": True}, {"t1": True, "t9": True}])
def test_an_unknown_id_is_refused_and_decides_nothing(office: Office, verdicts: Mapping[str, bool]) -> None:
    office.wait()
    with pytest.raises(InvalidRequestError, match=f"t9 does not wait for approval; these do: {office.ids['t1']}"):
        office.decide(verdicts)
    assert (office.ran, office.statuses()) == ([], ["awaiting_approval"])
    assert office.decisions() == {}
    assert office.journal.approvals == []  # the log tells of no decision that was not made
    office.approve(reply("Done."), t1=True)
    assert office.ran == ["refund 7 1"]


def test_where_nothing_waits_there_is_nothing_to_approve(office: Office) -> None:
    with pytest.raises(NotFoundError):
        office.approve(t1=True)
    office.ask(reply("hello"))
    with pytest.raises(NotFoundError):
        office.approve(t1=True)
    assert office.journal.approvals == []


def test_a_denial_holds_where_the_tool_needs_approval_no_longer(office: Office) -> None:
    strict = [True]

    def is_strict() -> bool:
        return strict[0]

    @tool(needs_approval=is_strict)
    def wipe() -> str:
        """Wipes all."""
        office.ran.append("wipe")
        return "wiped"

    office.more_tools = [wipe]
    office.wait(use("t1", "wipe"))
    strict[0] = False
    office.approve(reply("As you wish."), t1=False)
    assert office.ran == []


def test_a_call_that_needs_approval_only_now_is_not_run_unasked(office: Office) -> None:
    strict = [False]

    def is_strict() -> bool:
        return strict[0]

    @tool(needs_approval=is_strict)
    def wipe() -> str:
        """Wipes all."""
        office.ran.append("wipe")
        return "wiped"

    office.more_tools = [wipe]
    office.wait(use("t1", "wipe"), use("t2", "refund", {"order": "7"}))
    strict[0] = True
    office.approve(reply("Done."), t2=True)
    assert office.ran == ["refund 7 1"]


@pytest.mark.parametrize("broken", [use("t2", "write", "no object"), use("t2", "wri.te"), use("t2", None)])
def test_a_call_that_was_malformed_before_the_wait_is_not_run_after_it(office: Office, broken: object) -> None:
    @tool(side_effects=True)
    def wri_te() -> str:
        """A name that an illegal one is mended to."""
        office.ran.append("wri_te")
        return "x"

    office.more_tools = [wri_te]
    office.ask(asks(use("t1", "refund", {"order": "7"}), broken), reply("Sorry."))
    if office.statuses() == ["awaiting_approval"]:
        office.approve(reply("Done."), t1=True)
    assert set(office.ran) <= {"refund 7 1"}


def test_who_approved_what_and_when_is_kept_with_the_turn_and_told(office: Office) -> None:
    _two(office)
    office.approve(by="boss", t1=True)
    office.clock.advance(60)
    office.approve(reply("Done."), by="clerk", t2="No.")
    assert office.item()["approvals"].keys() == {"random", "decisions"}
    assert office.decisions() == {
        "t1": {"approved": True, "reason": "", "by": "boss", "at": "2027-01-15T08:00:00Z"},
        "t2": {"approved": False, "reason": "No.", "by": "clerk", "at": "2027-01-15T08:01:00Z"},
    }
    assert office.journal.approvals == [
        (office.key, "t1", "refund", True, "boss"),
        (office.key, "t2", "refund", False, "clerk"),
    ]
