"""A turn with a listener: it hears the turn as it runs, and the turn ends to the letter as it does with nobody there."""

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from agent.deadline import Deadline
from agent.errors import ModelError, ModelThrottledError, OutOfTimeError, PromptTooLongError
from agent.messages import assistant_text, user_text
from agent.ports import Model, ModelReply, ModelRequest, TextListener
from agent.tooling.tool import tool
from agent.tooling.toolbox import ToolLimits
from agent.turn.fallback import Fallback
from agent.turn.loop import Limits
from agent.turn.outcome import Outcome
from agent.turn.telling import Telling
from tests.agent.turn.turns import make_turn
from tests.fakes import FakeJournal, FakeModel, Heard, asks, reply, stream, thought, use

_HISTORY = [[user_text("earlier"), assistant_text("answer")], [user_text("later"), assistant_text("answer")]]
SCRIPTS: dict[str, list[Any]] = {
    "an answer": [reply("Fine.")],
    "an answer of several blocks": [reply("One.", "  ", "Two.", thought("hm"), "Three.")],
    "thinking tags": [reply("<thinking>hm</thinking>\nFine.")],
    "a tool": [asks("Let me see.", use("a", "echo", {"text": "x"})), reply("Done.")],
    "several tools": [asks(use("a"), use("b", "boom"), use("c", "refuse"), use("d", "nosuch")), reply("Done.")],
    "an empty answer, then another": [reply("   "), reply("Better.")],
    "malformed, then another": [reply("half", stop_reason="malformed_model_output"), reply("Better.")],
    "malformed twice": [
        reply("half", stop_reason="malformed_tool_use"),
        reply("hal", stop_reason="malformed_tool_use"),
    ],
    "a guardrail": [reply("Blocked.", stop_reason="guardrail_intervened")],
    "a content filter without words": [reply(stop_reason="content_filtered")],
    "cut off": [reply("It is", stop_reason="max_tokens")],
    "an unknown end": [reply("It is", stop_reason="something_new")],
    "a tool that was cut off": [reply("I look.", use("a"), stop_reason="max_tokens")],
    "out of time after a step": [asks("I look.", use("a")), OutOfTimeError()],
    "too long, then shorter": [PromptTooLongError(), reply("Fine.")],
    "surrogates": [reply("a\ud83d", "\ude00b")],
    "nothing at all": [reply(), reply()],
}


def run(script: Sequence[Any], heard: Heard | None, **options: Any) -> Outcome:
    """How the turn of a script ends, without its times and the traces of bugs."""
    turn = make_turn(FakeModel(script, model_ids=()), history=_HISTORY, **options)
    turn.listener = Telling(heard) if heard else None
    outcome = turn.run()
    return replace(outcome, tool_records=[replace(each, milliseconds=0, problem=None) for each in outcome.tool_records])


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_turn_ends_the_same_whether_anybody_listens_or_not(name: str) -> None:
    heard = Heard()
    outcome = run(SCRIPTS[name], heard)
    assert repr(outcome) == repr(run(SCRIPTS[name], None))  # a bug of a tool is an exception, equal to itself alone
    # all that is shown of the last step stands in the answer; what the answer adds are notes of ours
    assert outcome.answer.startswith(heard.shown[outcome.steps])


def test_a_listener_hears_text_tools_and_their_results_step_by_step() -> None:
    heard = Heard()
    run([asks("Let me see.", use("a", "echo", {"text": "x"})), reply("Done.")], heard)
    assert heard.names == ["text", "tool_use", "tool_result", "text"]
    assert heard.shown == {1: "Let me see.", 2: "Done."}
    results = [data for name, data in heard.events if name == "tool_result"]
    assert ("tool_use", {"step": 1, "tool_use_id": "a", "name": "echo"}) in heard.events
    assert {**results[0], "milliseconds": 0} == {
        "step": 1,
        "tool_use_id": "a",
        "name": "echo",
        "status": "success",
        "milliseconds": 0,
    }


def test_a_tool_that_is_not_run_has_a_result_but_does_not_begin() -> None:
    heard = Heard()
    run([asks(use("a", "nosuch"), use("b")), reply("Done.")], heard)
    assert [data["tool_use_id"] for name, data in heard.events if name == "tool_use"] == ["b"]
    assert sorted((d["tool_use_id"], d["status"]) for name, d in heard.events if name == "tool_result") == [
        ("a", "error"),
        ("b", "success"),
    ]


def test_each_result_is_told_when_it_is_there_and_a_late_one_never() -> None:
    release = threading.Event()

    @tool
    def slow() -> str:
        """Wait."""
        release.wait(10)
        return "late"

    @tool
    def quick() -> str:
        """Answer."""
        return "here"

    heard = Heard()
    limits = ToolLimits(timeout_seconds=0.5)
    run([asks(use("a", "slow"), use("b", "quick")), reply("Done.")], heard, tools=(slow, quick), tool_limits=limits)
    release.set()
    assert [d["tool_use_id"] for name, d in heard.events if name == "tool_result"] == ["b", "a"]


@pytest.mark.parametrize(
    ("name", "shown"), [("malformed, then another", {1: "", 2: "Better."}), ("a guardrail", {1: ""})]
)
def test_text_that_does_not_count_is_taken_back(name: str, shown: dict[int, str]) -> None:
    heard = Heard()
    run(SCRIPTS[name], heard)
    assert "void" in heard.names
    assert heard.shown == shown


class Breaking:
    """A model that writes half an answer and fails."""

    model_id = "breaking"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        if listener:
            stream(reply("Half an ans"), listener)
        raise self.error


@pytest.mark.parametrize("error", [ModelError(), ModelThrottledError()])
def test_what_a_model_wrote_before_another_took_over_is_taken_back(error: Exception) -> None:
    heard = Heard()
    models: list[Model] = [Breaking(error), FakeModel([reply("Whole.")])]
    turn = make_turn(Fallback(models, FakeJournal()))
    turn.listener = Telling(heard)
    assert turn.run().answer == "Whole."
    assert heard.names == ["text", "void", "text"]
    assert heard.shown == {1: "Whole."}


def test_what_a_model_wrote_before_the_time_ended_is_taken_back() -> None:
    class Late(FakeModel):
        def converse(
            self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None
        ) -> ModelReply:
            answer = super().converse(request, deadline, listener)
            if len(self.requests) > 1:
                raise OutOfTimeError
            return answer

    heard = Heard()
    turn = make_turn(Late([asks(use("a")), reply("Half an ans")]), limits=Limits())
    turn.listener = Telling(heard)
    assert turn.run().stop_reason == "deadline"
    assert heard.shown == {2: ""}
