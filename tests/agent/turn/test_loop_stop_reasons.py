"""Every stop reason of botocore, and an unknown one: whether tools run, what is stored, what the caller sees."""

from typing import Any

import pytest

from agent.messages import assistant_text, user_text
from agent.sessions.history import completed, model_history
from agent.turn.loop import CONCLUDE, NUDGE
from agent.turn.repair import repair
from local.bedrock.service_model import service_model
from tests.agent.turn.turns import ask_again, make_turn, spy, stored
from tests.fakes import FakeModel, asks, reply, thought, use

# stop reason: (runs tools, blocked, tried once more, words that the answer then holds)
_TABLE: dict[str, tuple[bool, bool, bool, str]] = {
    "end_turn": (True, False, False, ""),
    "tool_use": (True, False, False, ""),
    "stop_sequence": (True, False, False, ""),
    "max_tokens": (False, False, False, "cut off"),
    "model_context_window_exceeded": (False, False, False, "cut off"),
    "guardrail_intervened": (False, True, False, ""),
    "content_filtered": (False, True, False, ""),
    "malformed_model_output": (False, False, True, "malformed"),
    "malformed_tool_use": (False, False, True, "malformed"),
    "something_new": (False, False, False, ""),
}
_REASONS = list(_TABLE)
_SAID: dict[str, list[Any]] = {
    "nothing": [],
    "blank": ["\n"],
    "thinking alone": ["<thinking>plan</thinking>"],
    "reasoning alone": [thought()],
    "text": ["partial"],
    "text and use": ["partial", use("t1", "save", {"path": "x"})],
    "use": [use("t1", "save", {"path": "x"})],
}


def test_the_table_holds_every_stop_reason_of_the_service_model() -> None:
    known = set(service_model().shape_for("StopReason").metadata["enum"])
    assert known == set(_TABLE) - {"something_new"}


@pytest.mark.parametrize("said", _SAID)
@pytest.mark.parametrize("reason", _REASONS)
def test_a_turn_ends_well_whatever_the_stop_reason(reason: str, said: str) -> None:
    runs, blocked, retried, words = _TABLE[reason]
    has_use, shows_text = "use" in said, "text" in said
    save, calls = spy("save")
    outcome = make_turn(FakeModel([reply(*_SAID[said], stop_reason=reason)] * 2 + [reply("end")]), [save]).run()
    if runs and has_use:
        assert calls
        assert (outcome.answer, outcome.stop_reason, outcome.steps) == ("end", "end_turn", 3)
    else:
        again = retried or (runs and not shows_text)
        assert calls == []
        assert outcome.steps == (2 if again else 1)
        assert outcome.stop_reason == reason
        assert outcome.blocked is blocked
        assert words in outcome.answer
        assert "partial" in outcome.answer if shows_text else outcome.answer.strip()
        assert not has_use or "not run" in outcome.answer
        assert outcome.messages[0]["content"][0] == {"text": "question"}
        assert outcome.messages[1:] == ([assistant_text("partial")] if shows_text else [])
        assert not any("toolUse" in block for message in outcome.messages for block in message["content"])
    history = model_history(completed([stored(outcome)], 1, 0), set())
    assert len(history) == (0 if outcome.blocked else 1)
    ask_again(history, [save])


def test_what_is_kept_of_a_cut_answer_is_what_the_model_said_without_our_note() -> None:
    outcome = make_turn(FakeModel([reply("partial", use("t1"), stop_reason="max_tokens")])).run()
    assert "cut off" in outcome.answer
    assert outcome.messages == [user_text("question"), assistant_text("partial")]


def test_a_guardrail_text_is_the_answer() -> None:
    outcome = make_turn(FakeModel([reply("I can't talk about that.", stop_reason="guardrail_intervened")])).run()
    assert (outcome.answer, outcome.blocked) == ("I can't talk about that.", True)


def test_a_malformed_answer_is_asked_for_once_more_and_the_second_one_counts() -> None:
    model = FakeModel([reply("{", stop_reason="malformed_tool_use"), reply("good")])
    outcome = make_turn(model).run()
    assert (outcome.answer, outcome.stop_reason, outcome.steps) == ("good", "end_turn", 2)
    assert NUDGE in str(model.requests[1].messages[-1])


def test_an_empty_answer_behind_a_result_is_asked_for_once_and_then_told_honestly() -> None:
    model = FakeModel([asks(use("t1")), reply(), reply()])
    outcome = make_turn(model).run()
    assert outcome.answer.strip()
    assert (outcome.stop_reason, outcome.steps) == ("end_turn", 3)
    assert NUDGE in str(model.requests[2].messages[-1])
    ask_again([repair(outcome.messages, set())])


def test_earlier_words_of_the_turn_stand_in_for_an_empty_answer() -> None:
    outcome = make_turn(FakeModel([asks("It rains.", use("t1")), reply(), reply("\n")])).run()
    assert "It rains." in outcome.answer


def test_a_blank_answer_is_never_stored() -> None:
    outcome = make_turn(FakeModel([reply("\n"), reply("\n")])).run()
    assert outcome.answer.strip()
    ask_again(model_history([stored(outcome)], set()))


def test_sentences_to_the_model_are_not_stored() -> None:
    model = FakeModel([asks(use("t1")), reply(), reply("done")])
    outcome = make_turn(model).run()
    assert CONCLUDE not in str(outcome.messages)
    assert NUDGE not in str(outcome.messages)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<thinking>plan</thinking>\nAnswer", "Answer"),
        ("<thinking>a</thinking>One <thinking>b</thinking>two", "One two"),
        ("```\n<thinking>asked for</thinking>\n```", "```\n<thinking>asked for</thinking>\n```"),
    ],
)
def test_thinking_tags_are_taken_out_of_the_answer(text: str, answer: str) -> None:
    assert make_turn(FakeModel([reply(text)])).run().answer == answer


def test_an_answer_that_is_all_thinking_is_asked_for_once_more() -> None:
    model = FakeModel([reply("<thinking>plan</thinking>"), reply("Answer")])
    assert make_turn(model).run().answer == "Answer"


def test_redacted_reasoning_is_not_in_the_answer() -> None:
    redacted = {"reasoningContent": {"redactedContent": b"\x00\xff"}}
    assert make_turn(FakeModel([reply(redacted, "Answer")])).run().answer == "Answer"
