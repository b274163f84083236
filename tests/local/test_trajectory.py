"""Trajectory tests, as a project writes them: which tools, in which order, with which inputs."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.adapters.dynamodb.codec import load_messages
from local.stack import Choices, local_stack
from local.trajectory import ToolStep, assert_trajectory, difference, trajectory

SINE, COSINE = ToolStep("calculate", {"formula": "sin(0)"}), ToolStep("calculate", {"formula": "cos(0)"})


def messages_of(question: str, script: Path) -> list[Any]:
    """What is stored of a turn that was played from a script, such as `python -m local export` writes."""
    with local_stack(Choices(script=script, settings={"TOOLS": "calculator"})) as stack:
        _, succeeded = stack.function.invoke({"question": question, "session_id": "s"})
        assert succeeded
        messages = load_messages(stack.sessions.items("s")[0]["messages"]["S"])
    assert messages
    return messages


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "script.json"
    both = [{"name": "calculate", "input": {"formula": formula}} for formula in ("sin(0)", "cos(0)")]
    by_zero = {"name": "calculate", "input": {"formula": "1 / 0"}}
    file.write_text(json.dumps([{"tool_use": both}, {"tool_use": by_zero}, {"text": "It has none."}]))
    return file


def test_a_turn_is_held_against_the_steps_that_are_expected(script: Path) -> None:
    messages = messages_of("What is the cotangent of 0?", script)
    by_zero = ToolStep("calculate", {"formula": "1 / 0"}, "error")
    assert_trajectory(messages, SINE, COSINE, by_zero)


def test_a_mismatch_shows_both_sides_step_by_step(script: Path) -> None:
    messages = messages_of("What is the cotangent of 0?", script)
    with pytest.raises(AssertionError) as raised:
        assert_trajectory(messages, COSINE, COSINE)
    assert str(raised.value) == (
        "The tools were not used as expected.\n"
        '- 1. calculate {"formula": "cos(0)"}  success\n'
        '+ 1. calculate {"formula": "sin(0)"}  success\n'
        '  2. calculate {"formula": "cos(0)"}  success\n'
        "- 3. nothing\n"
        '+ 3. calculate {"formula": "1 / 0"}  error'
    )


def test_results_can_be_read_and_count_in_no_comparison(script: Path) -> None:
    steps = trajectory(messages_of("What is the cotangent of 0?", script))
    assert steps[:2] == [SINE, COSINE]
    assert [step.result for step in steps[:2]] != [[], []]


def test_a_tool_use_that_was_not_answered_says_so() -> None:
    use = {"toolUse": {"toolUseId": "t", "name": "refund", "input": {}}}
    steps = trajectory([{"role": "assistant", "content": [use]}])
    assert steps == [ToolStep("refund", {}, "")]
    assert "refund {}  not answered" in difference([], steps)


@pytest.mark.parametrize(
    "other",
    [
        ToolStep("calculate", {"formula": "sin(1)"}),
        ToolStep(SINE.name, SINE.input, "error"),
        ToolStep("calc", SINE.input),
    ],
)
def test_name_input_and_status_count(other: ToolStep) -> None:
    assert difference([SINE], [SINE]) == ""
    assert difference([SINE], [other]) != ""
    assert difference([SINE, COSINE], [COSINE, SINE]) != ""
