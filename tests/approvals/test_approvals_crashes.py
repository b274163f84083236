"""Turns whose process died after a person had said yes."""

import json

import pytest

from agent.errors import AgentError, ModelUnavailableError
from agent.turn.repair import INTERRUPTED
from tests.approvals.office import Office, thinking_refund
from tests.fakes import asks, reply, use


def crash(office: Office) -> None:
    """Approves t1 and dies once it ran."""
    with pytest.raises(ModelUnavailableError):
        office.approve(office.die, t1=True)
    office.live_again()


def test_the_same_approval_after_a_crash_goes_on_and_never_runs_the_call_again(office: Office) -> None:
    office.ask(thinking_refund())
    crash(office)
    answer = office.approve(reply("I don't know."), t1=True)
    assert (answer["answer"], answer["turn"], office.ran) == ("I don't know.", 1, ["refund 1 1"])
    assert office.results() == [json.dumps([{"text": INTERRUPTED}])]
    assert office.model.requests[-1].messages[1]["content"] == list(thinking_refund().content)
    assert office.statuses() == ["done"]
    office.goes_on()


@pytest.mark.parametrize("request_id", ["r", "another"])
def test_the_next_request_after_a_crash_is_told_of_the_unknown_outcome(office: Office, request_id: str) -> None:
    office.wait(request="r")
    crash(office)
    answer = office.ask(reply("I don't know."), text="refund it", request=request_id)
    assert (answer["answer"], answer["turn"], office.ran) == ("I don't know.", 1, ["refund 7 1"])
    assert INTERRUPTED in json.dumps(office.model.requests[-1].messages)
    with pytest.raises(AgentError):
        office.approve(t1=False)
    office.goes_on()
    assert office.ran == ["refund 7 1"]


def test_who_approved_is_still_known_after_a_crash(office: Office) -> None:
    office.wait(request="r")
    crash(office)
    office.ask(reply("I don't know."), request="r")
    assert office.decisions()["t1"]["by"] == "boss"


def test_the_figures_of_a_turn_that_waited_are_still_counted_after_a_crash(office: Office) -> None:
    office.wait(request="r")
    crash(office)
    answer = office.ask(reply("I don't know.", tokens=2), request="r")
    assert (answer["steps"], answer["usage"]["input_tokens"]) == (2, 6)


def test_a_contrary_approval_after_a_crash_changes_nothing(office: Office) -> None:
    office.wait()
    crash(office)
    with pytest.raises(AgentError) as caught:
        office.approve(t1=False)
    assert caught.value.code == "invalid_request"
    assert office.ran == ["refund 7 1"]


def test_a_crash_after_the_second_approval_keeps_the_result_of_the_first(office: Office) -> None:
    office.wait()
    office.approve(asks(use("t2", "refund", {"order": "8"})), t1=True)
    with pytest.raises(ModelUnavailableError):
        office.approve(office.die, t2=True)
    office.live_again()
    office.approve(reply("Done."), t2=True)
    told = json.dumps(office.model.requests[-1].messages)
    assert told.count("refunded") == 1
    assert told.count(INTERRUPTED) == 1
    assert office.ran == ["refund 7 1", "refund 8 1"]
