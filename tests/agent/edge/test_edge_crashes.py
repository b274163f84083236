"""Turns that crash or lose their lease, with side effects and without."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from agent.errors import (
    ModelUnavailableError,
    SessionBusyError,
    StorageUnavailableError,
)
from agent.ports import DONE, RUNNING
from agent.turn.repair import INTERRUPTED
from tests.agent.edge.desk import FAULTS, Desk, every_fault, fail, mend
from tests.fakes import asks, reply, use


def crash(desk: Desk, *replies: Any, request: str = "", text: str = "send it") -> None:
    """A turn whose process dies at the last of the replies, so that nothing is freed."""

    def dies(model_request: Any, deadline: Any) -> Any:
        desk.client.before = lambda operation, count: FAULTS[-1]
        raise ModelUnavailableError

    with pytest.raises(ModelUnavailableError):
        desk.ask(*replies, dies, text=text, request=request)
    mend(desk)


def test_a_turn_that_crashed_is_taken_over_once_its_lease_has_ended(desk: Desk) -> None:
    crash(desk, request="r", text="hi")
    assert desk.statuses() == [RUNNING]
    with pytest.raises(SessionBusyError):
        desk.ask(request="r")
    desk.clock.advance(64)
    with pytest.raises(SessionBusyError) as caught:
        desk.ask()
    assert caught.value.retry_after == 1
    desk.clock.advance(1)
    assert desk.ask(request="r")["turn"] == 1
    assert desk.statuses() == [DONE]


def test_the_same_request_goes_on_after_a_crash_and_never_runs_the_tool_again(desk: Desk) -> None:
    crash(desk, asks(use("t1", "send", {"to": "a"})), request="r")
    assert desk.sent == ["a"]
    desk.clock.advance(65)
    answer = desk.ask(reply("told"), text="send it", request="r")
    assert answer["turn"] == 1
    assert desk.sent == ["a"]
    assert desk.model
    messages = desk.model.requests[0].messages
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[-1]["content"][0]["toolResult"]["content"] == [{"text": INTERRUPTED}]
    assert messages[-1]["content"][0]["toolResult"]["status"] == "error"


def test_another_question_after_a_crash_is_told_of_the_unknown_outcome(desk: Desk) -> None:
    crash(desk, asks(use("t1", "send", {"to": "a"})))
    desk.clock.advance(65)
    answer = desk.ask(reply("told"), text="what happened?")
    assert (answer["turn"], desk.sent) == (1, ["a"])
    assert desk.model
    messages = desk.model.requests[0].messages
    assert INTERRUPTED in json.dumps(messages)
    assert messages[-1] == {"role": "user", "content": [{"text": "what happened?"}]}
    assert desk.ask(reply("later"))["turn"] == 2


def test_a_failed_turn_with_a_side_effect_frees_the_session_and_keeps_what_was_done(desk: Desk) -> None:
    with pytest.raises(ModelUnavailableError):
        desk.ask(asks(use("t1", "send", {"to": "a"})), ModelUnavailableError(), text="send it", request="r")
    assert desk.sent == ["a"]
    desk.ask(reply("told"), text="send it", request="r")
    assert desk.sent == ["a"]
    assert desk.model
    result = desk.model.requests[0].messages[-1]["content"][0]["toolResult"]
    assert result["status"] == "success"
    assert "sent" in json.dumps(result["content"])


def test_a_crash_without_side_effects_leaves_no_trace_in_the_next_turn(desk: Desk) -> None:
    crash(desk, asks(use("t1", "large", {"size": 1})))
    desk.clock.advance(65)
    desk.ask(text="next")
    assert desk.model
    assert desk.model.requests[0].messages == [{"role": "user", "content": [{"text": "next"}]}]


@every_fault
def test_a_side_effect_that_can_not_be_written_down_is_not_made(desk: Desk, fault: Exception) -> None:
    fail(desk, "update_item", fault)
    with suppress(StorageUnavailableError):
        answer = desk.ask(asks(use("t1", "send", {"to": "a"})), reply("It was not sent."))
        assert [used["status"] for used in answer["tool_uses"]] == ["error"]
    assert desk.sent == []


def test_who_has_lost_the_lease_makes_no_side_effect(desk: Desk) -> None:
    other = replace(desk)

    def overtaken(request: Any, deadline: Any) -> Any:
        desk.clock.advance(70)
        other.ask(reply("quicker"))
        return asks(use("t1", "send", {"to": "a"}))

    with suppress(SessionBusyError):  # and no other error: it is what the contract names
        assert desk.ask(overtaken, reply("It was not sent."))["saved"] is False
    assert desk.sent == []
    assert desk.statuses() == [DONE]


def test_an_answer_after_the_lease_was_lost_is_returned_unsaved(desk: Desk) -> None:
    other = replace(desk)

    def overtaken(request: Any, deadline: Any) -> Any:
        desk.clock.advance(70)
        other.ask(reply("quicker"))
        return reply("slower")

    answer = desk.ask(overtaken)
    assert (answer["answer"], answer["saved"]) == ("slower", False)
    assert [turn["answer"] for turn in desk.sessions().read(desk.key)] == ["quicker"]
