"""A conversation that is too long for the model: older turns go first, and what can't be helped is said."""

import pytest

from agent.errors import PromptTooLongError
from agent.messages import assistant_text, user_text
from tests.agent.turn.turns import ask_again, make_turn
from tests.fakes import FakeModel, asks, reply, thought, use


def test_a_history_that_is_too_long_goes_by_halves_the_oldest_first() -> None:
    history = [[user_text(f"q{n}"), assistant_text(f"a{n}")] for n in range(5)]
    model = FakeModel([PromptTooLongError(), PromptTooLongError(), reply("short enough")])
    assert make_turn(model, history=history).run().answer == "short enough"
    told = [[m["content"][0]["text"] for m in r.messages if m["role"] == "user"] for r in model.requests]
    assert told == [["q0", "q1", "q2", "q3", "q4", "question"], ["q3", "q4", "question"], ["q4", "question"]]


@pytest.mark.parametrize("reasoned", [False, True])
def test_a_conversation_that_becomes_too_long_in_the_middle_of_a_turn_is_answered(reasoned: bool) -> None:
    history = [[user_text("q"), assistant_text("a")]]
    asked = [thought(), use("t1")] if reasoned else [use("t1")]
    model = FakeModel([asks(*asked), PromptTooLongError(), PromptTooLongError(), PromptTooLongError(), reply("never")])
    outcome = make_turn(model, history=history).run()
    assert outcome.stop_reason == "model_context_window_exceeded"
    assert outcome.answer.strip()
    ask_again([[user_text("question"), assistant_text(outcome.answer)]])
