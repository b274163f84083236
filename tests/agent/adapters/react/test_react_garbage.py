"""Whatever text a model writes: reading it ends soon and raises nothing, and the loop over it leaves a valid turn."""

import itertools
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.adapters.react.json_steps import step_in_json
from agent.adapters.react.model import ReActModel
from agent.adapters.react.reading import read
from agent.turn.loop import Limits
from agent.turn.repair import repair
from tests.agent.turn.strategies import EXAMPLES
from tests.agent.turn.turns import ask_again, make_turn
from tests.fakes import FakeModel, reply

pytestmark = pytest.mark.slow

TOOLS: dict[str, Any] = {
    "echo": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "boom": {"type": "object", "properties": {}},
}
_FORMAT = ["Thought:", "\nAction:", "Action: ", "echo", "boom", "\nAction Input:", '{"text": "x"}', "\nObservation:"]
_JAPANESE = [
    "\nFinal Answer:",
    "思考：",
    "\n行動の入力：",
    "最終回答",
    "{'text': None, }",
    "<think>",
    "</think>",
    "None",
]
_SIGNS = ["\n", "{", "}", "[", "'", '"', "`" * 3, "**", "\\", ",", " ", "\ud83c", "\0", "1" * 5_000, "<thinking>"]
_TEXTS = st.lists(st.sampled_from([*_FORMAT, *_JAPANESE, *_SIGNS]) | st.text(max_size=5), max_size=25).map("".join)


@settings(EXAMPLES, max_examples=150)
@given(_TEXTS, st.booleans())
def test_any_text_is_read_as_at_most_one_thing(text: str, cut_off: bool) -> None:
    reading = read(text, TOOLS, cut_off=cut_off)
    assert [bool(reading.name), bool(reading.answer), bool(reading.problem)].count(True) <= 1
    assert bool(reading.name) == isinstance(reading.input, dict)
    if text.strip() and "think" not in text:
        assert reading.name or reading.answer or reading.problem


@settings(EXAMPLES, max_examples=50)
@given(
    st.lists(_TEXTS, min_size=1, max_size=4),
    st.sampled_from(["end_turn", "stop_sequence", "max_tokens", "something_new"]),
)
def test_any_texts_leave_a_valid_turn(texts: list[str], stop_reason: str) -> None:
    model = FakeModel(itertools.cycle([reply(text, stop_reason=stop_reason) for text in texts]))
    outcome = make_turn(ReActModel(model), limits=Limits(max_steps=4)).run()
    assert outcome.answer.strip()
    json.dumps(outcome.answer, ensure_ascii=False).encode()
    assert outcome.steps <= 4
    assert len(model.requests) <= 2 * outcome.steps
    ask_again([repair(outcome.messages, set())])


_LENGTH = 400_000
_IN_INPUT = "Action: echo\nAction Input: {"


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        ("", "Action:"),
        ("", "\nAction:"),
        ("", " Action: x"),
        ("", " Action: x Action Input"),
        ("", "\nAction: None"),
        ("", "\nThought: a\nAction: None"),
        ("", "\nAction: Final Answer\nAction Input:"),
        ("", "\nThought: a"),
        ("", "\nObservation:"),
        ("", "\nFinal Answer"),
        ("", "<think>"),
        ("", "\n \u3000\t"),
        ("", "\n{"),
        ("", '{"action":'),
        ("", "<function=x>"),
        ("Action: echo\nAction Input: x", "\nResult: x"),
        ("Thought", " "),
        ("Action: None", " "),
        (_IN_INPUT, "{"),
        (_IN_INPUT, '{"a":'),
        (_IN_INPUT, "[1,"),
        (_IN_INPUT, "'\\'"),
        (_IN_INPUT, "'\\\""),
        (_IN_INPUT, '"\\'),
        (_IN_INPUT, "', "),
        (_IN_INPUT, ", "),
        (_IN_INPUT + ",", " "),
        (_IN_INPUT + '"text":', "1"),
        ("Action: echo\nAction Input: ", "`"),
        ("Action: echo\nAction Input: ", "``` "),
        ("Action: echo\nAction Input: ", "[["),
    ],
)
def test_garbage_takes_linear_time(begin: str, piece: str) -> None:
    text = begin + piece * (_LENGTH // len(piece))
    started = time.process_time()
    read(text, TOOLS)
    step_in_json(text, TOOLS)
    # quadratic time would be minutes
    assert time.process_time() - started < 5
