"""A new question instead of an approval counts as a no, and closes the turn that waited."""

import json

import pytest

from agent.errors import ModelThrottledError, NotFoundError, SessionBusyError
from tests.approvals.office import Office
from tests.fakes import reply, use


def test_a_new_question_meanwhile_counts_as_a_no_and_closes_the_turn(office: Office) -> None:
    office.wait()
    answer = office.ask(reply("Sure."), text="and something else?")
    assert (answer["turn"], answer["answer"]) == (2, "Sure.")
    assert office.statuses() == ["done", "done"]
    with pytest.raises(NotFoundError):
        office.approve(t1=True)
    assert office.ran == []
    office.goes_on()
    assert "another question came" in json.dumps(office.model.requests[-1].messages)


def test_the_new_question_itself_is_told_what_became_of_the_waiting_call(office: Office) -> None:
    office.wait()
    office.ask(reply("No."), text="was it paid?")
    assert "another question came" in json.dumps(office.model.requests[-1].messages)


def test_a_turn_that_was_closed_by_a_new_question_stays_closed_where_that_one_fails(office: Office) -> None:
    office.wait(use("t1", "refund", {"order": "1"}), use("t2", "refund", {"order": "2"}))
    office.approve(t1=True)
    with pytest.raises(ModelThrottledError):
        office.ask(ModelThrottledError(), text="and something else?")
    for verdicts in ({"t1": True}, {"t2": True}, {"t1": True, "t2": True}):
        with pytest.raises(NotFoundError):
            office.decide(verdicts)
    assert office.ran == []
    office.goes_on()


def test_a_closed_turn_is_not_shown_as_one_that_waits(office: Office) -> None:
    office.wait()
    office.ask(reply("Sure."), text="and something else?")
    first, _ = office.sessions().read(office.key)
    assert first["stop_reason"] != "awaiting_approval"


def test_nothing_is_approved_while_another_turn_runs(office: Office) -> None:
    office.put_running()
    with pytest.raises(SessionBusyError):
        office.approve(t1=True)
