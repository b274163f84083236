"""Steps that models write as JSON are taken as what they are, or sent back once; none is shown as the answer."""

import json
from typing import Any

import pytest

from agent.adapters.react.model import ReActModel
from agent.adapters.react.prompt import ENGLISH
from agent.deadline import Deadline
from agent.messages import user_text, visible_text
from agent.ports import ModelReply, ModelRequest
from tests.fakes import FakeModel, reply

_TEXT = {"type": "object", "properties": {"formula": {"type": "string"}}, "required": ["formula"]}
_TWO = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a", "b"]}
TOOLS = [
    {"toolSpec": {"name": name, "inputSchema": {"json": schema}}}
    for name, schema in [("calculate", _TEXT), ("pair", _TWO), ("now", {"type": "object", "properties": {}})]
]
ARGUMENTS = {"formula": "2+2"}
STEP = {"thought": "t", "action": "calculate", "action_input": ARGUMENTS}
CALL = {"name": "calculate", "arguments": ARGUMENTS}


def asked(*texts: str, stop_reason: str = "end_turn") -> tuple[ModelReply, FakeModel]:
    model = FakeModel([reply(text, stop_reason=stop_reason) for text in texts])
    request = ModelRequest("", [user_text("What is 2+2?")], TOOLS)
    return ReActModel(model).converse(request, Deadline.after(9)), model


def fenced(value: Any, kind: str = "json") -> str:
    return f"```{kind}\n{json.dumps(value, indent=2)}\n```"


USED = [
    json.dumps(STEP),
    json.dumps(STEP, indent=2),
    fenced(STEP),
    fenced(STEP, ""),
    f"  {fenced(STEP)}\nObservation: 5\nFinal Answer: 5",
    json.dumps({"Thought": "t", "Action": "calculate", "Action Input": ARGUMENTS}),
    json.dumps({**STEP, "action_input": json.dumps(ARGUMENTS)}),
    json.dumps({**STEP, "action_input": "2+2"}),
    json.dumps({**STEP, "final_answer": None}),
    json.dumps({**STEP, "thought": None, "action": "Calculate"}),
    json.dumps({"tool": "calculate", "tool_input": ARGUMENTS}),
    json.dumps({"tool_name": "calculate", "parameters": ARGUMENTS}),
    json.dumps(CALL),
    json.dumps([CALL, CALL]),
    json.dumps({"tool_call": CALL}),
    json.dumps({"tool_call": {"action": "calculate", "action_input": ARGUMENTS}}),
    json.dumps(
        {"tool_calls": [{"id": "1", "type": "function", "function": {**CALL, "arguments": json.dumps(ARGUMENTS)}}]}
    ),
    json.dumps({"action": {"name": "calculate", "arguments": ARGUMENTS}}),
    f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>",
    f"<tool_call>{json.dumps(CALL)}</tool_call>\n<tool_call>{json.dumps(CALL)}</tool_call>",
    f"<|python_tag|>{json.dumps({'name': 'calculate', 'parameters': ARGUMENTS})}",
    f"[TOOL_CALLS] [{json.dumps(CALL)}]",
    f"<function=calculate>{json.dumps(ARGUMENTS)}</function>",
    f"Thought: t\n{fenced(STEP)}",
    f"Thought: t\nAction:\n{fenced(STEP)}",
    f"Thought: t\nAction: {json.dumps(STEP)}",
    f"<think>{json.dumps({**STEP, 'action': 'pair'})}</think>\n{json.dumps(STEP)}",
    "{'thought': 't', 'action': 'calculate', 'action_input': {'formula': '2+2',}}",
]


@pytest.mark.parametrize("text", USED)
def test_a_step_in_json_is_a_tool_use(text: str) -> None:
    answer, model = asked(text)
    [block] = [block["toolUse"] for block in answer.content if "toolUse" in block]
    assert (block["name"], block["input"]) == ("calculate", ARGUMENTS)
    assert (answer.stop_reason, len(model.requests)) == ("tool_use", 1)


@pytest.mark.parametrize(
    "text", ['{"action": "now"}', '{"name": "now", "arguments": {}}', '{"action": "now", "action_input": ""}']
)
def test_a_tool_without_parameters_needs_no_input(text: str) -> None:
    assert asked(text)[0].content[-1]["toolUse"]["input"] == {}


def test_an_unknown_tool_is_handed_on_so_that_the_model_is_told_which_there_are() -> None:
    assert asked(json.dumps({**STEP, "action": "seek"}))[0].content[-1]["toolUse"]["name"] == "seek"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"thought": "t", "final_answer": "42"}),
        fenced({"Thought": "t", "Final Answer": "42"}),
        json.dumps({"thought": "t", "action": "Final Answer", "action_input": "42"}),
        json.dumps({"action": "final_answer", "action_input": {"answer": "42"}}),
        json.dumps({"action": None, "final_answer": "42"}),
        json.dumps({"action": "none", "answer": "42"}),
        json.dumps({"thought": "t", "answer": "42"}),
        json.dumps({"answer": 42}),
        f"Thought: t\nFinal Answer: {json.dumps({'answer': '42'})}",
    ],
)
def test_an_answer_in_json_is_its_text(text: str) -> None:
    answer, model = asked(text)
    said = visible_text({"role": "assistant", "content": list(answer.content)})
    assert (said, answer.stop_reason, len(model.requests)) == ("42", "end_turn", 1)


@pytest.mark.parametrize(
    "text",
    [
        '{"city": "Oslo", "country": "Norway"}',
        '{"name": "Hana", "age": 3}',
        fenced({"answer": 42, "unit": "cm"}),
        "Final Answer: " + fenced(CALL),
        '{"action": "opened", "number": 3} is what a webhook sends.',
        'An event has the key "action": its value says what happened.',
    ],
)
def test_json_that_is_an_answer_stays_one(text: str) -> None:
    answer, model = asked(text)
    said = visible_text({"role": "assistant", "content": list(answer.content)})
    assert (said, len(model.requests)) == (text.removeprefix("Final Answer: "), 1)


@pytest.mark.parametrize(
    "text",
    [
        '{"thought": "t", "action": "calculate", "action_input": {"formula": "2+2"',
        '{"thought": "t", "action": "pair"}',
        json.dumps({**STEP, "action_input": [1, 2]}),
        json.dumps({"action": "pair", "action_input": "x"}),
        f"I will calculate it.\n{fenced(STEP)}",
        "<tool_call>calculate 2+2</tool_call>",
        '{"final_answer": ""}',
        '{"action": "Final Answer"}',
        "<function=calculate><parameter=formula>2+2</parameter></function>",
    ],
)
def test_what_was_meant_as_a_step_and_is_none_is_sent_back_once_and_then_told_as_that(text: str) -> None:
    answer, model = asked(text, text)
    assert len(model.requests) == 2
    assert answer.remark == ENGLISH.not_understood


@pytest.mark.parametrize(
    "label",
    [
        "Action Output:",
        "Tool Output:",
        "Output:",
        "Result:",
        "Action Result:",
        "Response:",
        "Question:",
        "Human:",
        "Answer:",
        "結果：",
    ],
)
def test_what_a_model_makes_up_behind_an_input_is_cut(label: str) -> None:
    answer, _ = asked(f"Action: calculate\nAction Input: 2+2\n{label} It is 5.\nThought: I know.\nFinal Answer: 5")
    assert answer.content[-1]["toolUse"]["input"] == ARGUMENTS


def test_such_a_word_is_no_label_elsewhere() -> None:
    text = "The table:\nResult: 42\nOutput: 43"
    assert asked(f"Thought: Result: 4\nOutput: 5\nFinal Answer: {text}")[0].content[-1] == {"text": text}
    assert asked("Result: 42")[0].content == [{"text": "Result: 42"}]


def test_a_malformed_step_that_was_run_on_from_is_corrected_even_where_the_reply_was_cut() -> None:
    text = "Action: pair\nAction Input: y = 7\nAction Output: 7\nAction Input: x = 7"
    answer, model = asked(text, json.dumps(STEP), stop_reason="max_tokens")
    assert len(model.requests) == 2
    assert answer.stop_reason == "tool_use"
