"""The window of ten turns of docs/agents.md."""

import pytest

from local.stack import Choices, local_stack
from tests.shown.transcripts import play, shown

pytestmark = pytest.mark.slow

_TOLD, _ASKED = "My name is Taro.", "Do you remember my name?"


def test_a_name_is_forgotten_after_ten_other_turns() -> None:
    (chatting,) = shown("A memory of ten turns")
    play(chatting)
    questions = [line.removeprefix("you> ") for line in chatting.output.splitlines() if line.startswith("you> ")]
    assert (questions[0], len(questions[1:-2]), questions[-2]) == (_TOLD, 10, _ASKED)


def test_a_name_is_remembered_for_nine_other_turns() -> None:
    with local_stack(Choices(settings={"HISTORY_PAIRS": "10", "TOOLS": "calculator"})) as stack:
        questions = [_TOLD, *(f"What is {number} + {number}?" for number in range(1, 10)), _ASKED]
        answers = [stack.function.invoke({"question": each, "session_id": "s"})[0]["answer"] for each in questions]
        assert answers[-1] == "Your name is Taro."
        assert [row.turn for row in stack.sessions.rows()] == list(range(2, 12))
