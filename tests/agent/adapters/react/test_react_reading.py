"""Reading ReAct texts: what models write instead of the format is understood where it can mean one thing only."""

from typing import Any

import pytest

from agent.adapters.react.reading import Reading, read

SEARCH = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["query"],
}
PAIR = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    "required": ["a", "b"],
}
TOOLS: dict[str, Any] = {"search": SEARCH, "now": {"type": "object", "properties": {}}, "pair": PAIR}
CALL = '{"query": "x"}'


def _used(text: str, *, cut_off: bool = False) -> tuple[str, dict[str, Any] | None]:
    reading = read(text, TOOLS, cut_off=cut_off)
    assert not reading.problem
    return reading.name, reading.input


@pytest.mark.parametrize(
    "text",
    [
        f"Thought: t\nAction: search\nAction Input: {CALL}",
        f"thought: t\naction: search\naction input: {CALL}",
        f"**Thought:** t\n**Action:** search\n**Action Input:** {CALL}",
        f"**Thought**: t\n**Action**: `search`\n**Action Input**: `{CALL}`",
        f"### Thought: t\n### Action: search\n### Action Input:\n{CALL}",
        f"- Thought: t\n- Action: search\n- Action Input: {CALL}",
        f"Thought 1: t\nAction 1: search\nAction Input 1: {CALL}",
        f"Thought：t\nAction：search\nAction Input：{CALL}",
        f"思考: t\n行動: search\n行動の入力: {CALL}",
        f"思考：t\n行動：「search」\n行動の入力：{CALL}",
        f"  Thought: t\r\n  Action: search\r\n  Action Input: {CALL}\r\n",
        f"Thought: t\n\nAction: search\n\nAction Input:\n\n{CALL}\n\n",
        f"Thought: t Action: search Action Input: {CALL}",
        f"Thought: t\nAction: search Action Input: {CALL}",
        f"思考：t。行動：search 行動の入力：{CALL}",
        f"t\nAction: Search.\nAction Input: {CALL} That is all.",
        f"<thinking>t</thinking>\nAction: search\nAction Input: {CALL}",
        f"<think>Action: pair\nAction Input: no</think>\nThought: t\nAction: search\nAction Input: {CALL}",
        f"Action: pair\nFinal Answer: no\n</think>\nThought: t\nAction: search\nAction Input: {CALL}",
        f"Thought: t\nAction: search\nAction Input: ```json\n{CALL}\n```",
        f"Thought: t\nAction: search\nAction Input:\n```\n{CALL}\n```\nObservation: made up",
        f"Observation: as I was told\nThought: t\nAction: search\nAction Input: {CALL}",
        "Thought: t\nAction: search\nAction Input: {'query': 'x'}",
        'Thought: t\nAction: search\nAction Input: {"query": "x",}',
        'Thought: t\nAction: search\nAction Input: {"query"： "x"}',
        'Thought: t\nAction: search\nAction Input: {\n  "query":\n    "x"\n}',
        "Thought: t\nAction: search\nAction Input: x",
        'Thought: t\nAction: search\nAction Input: "x"',
        "Thought: t\nAction: search\nAction Input: 'x'",
        "Thought: t\nAction: search\nAction Input:\n```text\nx\n```",
    ],
)
def test_one_tool_use_is_read_however_it_is_written(text: str) -> None:
    reading = read(text, TOOLS)
    assert (reading.name, reading.input, reading.problem) == ("search", {"query": "x"}, "")
    assert reading.thought.strip("。") in ("t", "")
    assert reading.answer == ""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("""{'a': 'it\\'s "so"', 'b': "it's"}""", {"a": 'it\'s "so"', "b": "it's"}),
        ("{'a': True, 'b': [None, False,], }", {"a": True, "b": [None, False]}),
        ('{"a": "True, None：", "b": "x,}"}', {"a": "True, None：", "b": "x,}"}),
        ('{"a": "line\nObservation: x\nFinal Answer: y"}', {"a": "line\nObservation: x\nFinal Answer: y"}),
        ('{"a": {"b": {"c": [1.5, "東京🌞"]}}}', {"a": {"b": {"c": [1.5, "東京🌞"]}}}),
        ("{}", {}),
    ],
)
def test_objects_are_read_as_json_or_as_python_writes_them(given: str, expected: dict[str, Any]) -> None:
    assert _used(f"Action: pair\nAction Input: {given}") == ("pair", expected)


def test_the_first_of_several_actions_counts_and_what_follows_is_cut() -> None:
    text = (
        'Action: search\nAction Input: {"query": "first"}\nObservation: made up\n'
        'Action: search\nAction Input: {"query": "second"}\nFinal Answer: invented'
    )
    assert _used(text) == ("search", {"query": "first"})
    assert _used(text.replace("Observation: made up\n", "")) == ("search", {"query": "first"})


def test_a_thought_may_speak_of_the_answer_to_come() -> None:
    text = f"Thought: First I search. Then comes the Final Answer: soon.\nAction: search\nAction Input: {CALL}"
    assert _used(text) == ("search", {"query": "x"})


def test_a_bare_number_is_a_text_where_a_text_is_wanted() -> None:
    assert _used("Action: search\nAction Input: 00123") == ("search", {"query": "00123"})
    assert _used("Action: search\nAction Input: 123") == ("search", {"query": "123"})


def test_a_bare_formula_stays_as_it_is() -> None:
    assert _used("Action: search\nAction Input: (2 + 3) * 4\nObservation: 20") == ("search", {"query": "(2 + 3) * 4"})


@pytest.mark.parametrize("text", ["Action: now", "Action: now\nAction Input:", "Action: now\nAction Input: None"])
def test_a_tool_without_parameters_needs_no_input(text: str) -> None:
    assert _used(text) == ("now", {})


def test_an_unknown_tool_is_handed_on_so_that_the_model_is_told_which_there_are() -> None:
    assert _used(f"Action: seek\nAction Input: {CALL}") == ("seek", {"query": "x"})


@pytest.mark.parametrize(
    "text",
    [
        "Thought: t\nFinal Answer: 42",
        "thought: t\nfinal answer: 42",
        "**Final Answer:** 42",
        "**Final Answer: 42**",
        "**Final Answer: 42\n**",
        "思考：t\n最終回答：42",
        "Thought: I now know the final answer. Final Answer: 42",
        "思考: わかった。最終回答: 42",
        "Action: None\nFinal Answer: 42",
        "Action: None needed.\nAction Input: None\nFinal Answer: 42",
        "行動: なし\n最終回答: 42",
        "Action:\nFinal Answer: 42",
        "Action: Final Answer\nAction Input: 42",
        'Action: Final Answer\nAction Input: {"answer": "42"}',
        "Action: Final Answer: 42",
        "Action: Final Answer\n42",
        "Action: Final Answer\nFinal Answer: 42",
        "行動: 最終回答\n行動の入力: 「42」",
        "42",
        "  42\n",
        "Final Answer: 42\nObservation: that was right\nThought: on",
        "<think>41? Final Answer: 41.\nNo.</think>\n\n42",
    ],
)
def test_an_answer_is_read_however_it_is_written(text: str) -> None:
    reading = read(text, TOOLS)
    assert (reading.answer.strip("「」"), reading.name, reading.problem) == ("42", "", "")


def test_an_answer_keeps_its_lines_its_code_and_its_bold_words() -> None:
    answer = "**Two** steps:\n\n1. x\n2. Action: none of ours\n\n```json\n{}\n```"
    assert read(f"Thought: t\nFinal Answer: {answer}", TOOLS) == Reading(thought="t", answer=answer)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Thought: t\nAction: search", "no_input"),
        ("Action: search\nObservation: made up", "no_input"),
        ("Action: search\nAction Input: {'query': 'it's'}", "no_object"),
        ('Action: search\nAction Input: {"query": "x"', "no_object"),
        ("Action: search\nAction Input: [1, 2]", "no_object"),
        ("Action: search\nAction Input: null", "no_object"),
        ("Action: search\nAction Input: true", "no_object"),
        ("Action: pair\nAction Input: x", "no_object"),
        ("Action: seek\nAction Input: x", "no_object"),
        ("Action Input: {}", "no_action"),
        ("Thought: t\nAction Input: {}", "no_action"),
        ("Thought: t\nFinal Answer:", "no_answer"),
        ("最終回答：\n", "no_answer"),
        ("Thought: t", "no_step"),
        ("Action: None", "no_step"),
        ("Thought: t\nObservation: x\nFinal Answer: built on what was made up", "no_step"),
    ],
)
def test_what_can_not_be_acted_on_is_told_by_its_kind(text: str, problem: str) -> None:
    reading = read(text, TOOLS)
    assert (reading.problem, reading.name, reading.answer) == (problem, "", "")


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        (f"Action: search\nAction Input: {CALL}", True),
        ("Action: search\nAction Input: x\nObservation: y", True),
        ("Action: now\nObservation: y", True),
        ("Action: now", False),
        ("Final Answer: 42\nObservation: y", True),
        ("Final Answer: 42", False),
        ("42", False),
    ],
)
def test_a_step_that_was_cut_off_is_whole_only_where_its_end_is_seen(text: str, is_whole: bool) -> None:
    assert read(text, TOOLS, cut_off=True).is_whole is is_whole


def test_a_bare_input_that_was_cut_off_is_not_used() -> None:
    assert read("Action: search\nAction Input: delete all but", TOOLS, cut_off=True).problem == "no_object"
