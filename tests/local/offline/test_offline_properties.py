"""Whatever is asked and whatever the tools return, the offline model answers with blocks that Converse takes."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local.bedrock.rules import violations
from local.offline.model import answer

MODEL = "amazon.nova-lite-v1:0"
SNIPPETS = [
    "What is the tangent of ",
    "12 / 4",
    "を割って",
    "私の名前は",
    "my name is ",
    "1990年2月30日",
    "0/0/0000",
    "(a, b)",
    "の天気",
    "lookup order ",
    "7",
    "answer now",
]
TEXTS = st.one_of(st.text(max_size=40), st.lists(st.sampled_from(SNIPPETS), max_size=6).map("".join))


def check(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The content of the reply, found to be what Converse takes."""
    reply = answer(MODEL, request)
    json.dumps(reply.content, ensure_ascii=False, allow_nan=False).encode()
    texts = [block["text"] for block in reply.content if "text" in block]
    uses = [block["toolUse"] for block in reply.content if "toolUse" in block]
    assert all(text.strip() for text in texts)
    assert reply.stop_reason == ("tool_use" if uses else "end_turn")
    assert len({use["toolUseId"] for use in uses}) == len(uses)
    assert texts or uses
    return reply.content


QUESTIONS = st.lists(
    st.sampled_from(
        [
            "What is the tangent of 7?",
            "(1 + 2) / (3 - 4) * sin(2)",
            "cot(3) / sec(2)",
            "Where is order A-17 and ticket T-1001?",
            "1990年2月30日生まれの人の運勢を占って",
            "the weather in Paris",
            "Roll a dice with 6 sides",
            "My name is Taro. ",
            "私の名前は？",
        ]
    ),
    min_size=1,
    max_size=3,
).map("".join)
OFFERED = {
    "sine": {"x": "number"},
    "cosine": {"x": "number"},
    "divide_numbers": {"x": "number", "y": "number"},
    "add": {"a": "number", "b": "integer"},
    "subtract": {"a": "number", "b": "number"},
    "multiply": {"a": "number", "b": "number"},
    "lookup_order": {"order_id": "string"},
    "ticket_status": {"ticket_id": "string"},
    "read_fortune": {"birthday": "string"},
    "get_weather": {"city": "string"},
    "roll_dice": {"sides": "integer"},
}
RESULTS = st.tuples(
    st.sampled_from(["success", "success", "error"]),
    st.one_of(
        st.builds(lambda text: {"text": text if text.strip() else "-"}, TEXTS),
        st.builds(lambda number: {"json": {"result": number}}, st.floats(allow_nan=False, allow_infinity=False)),
        st.builds(lambda number: {"text": str(number)}, st.floats()),
        st.builds(lambda value: {"json": value}, st.dictionaries(st.text(), st.integers(-99, 99), max_size=2)),
    ),
)


@settings(max_examples=60, deadline=None)
@given(QUESTIONS, st.sets(st.sampled_from(sorted(OFFERED)), min_size=1), st.data())
def test_a_turn_ends_and_keeps_the_rules_whatever_the_tools_return(
    question: str, names: set[str], data: st.DataObject
) -> None:
    tools = [tool_spec(name, OFFERED[name]) for name in sorted(names)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": question}]}]
    made: list[tuple[str, dict[str, Any]]] = []
    for _ in range(12):
        request = {"messages": messages, "toolConfig": {"tools": tools}}
        assert [broken for broken in violations(MODEL, request) if broken.level == "error"] == []
        content = check(request)
        uses = [block["toolUse"] for block in content if "toolUse" in block]
        if not uses:
            return
        results = []
        for use in uses:
            assert (use["name"], use["input"]) not in made
            made.append((use["name"], use["input"]))
            status, result = data.draw(RESULTS) if use["name"] in names else ("error", {"text": "no such tool"})
            results.append({"toolResult": {"toolUseId": use["toolUseId"], "status": status, "content": [result]}})
        messages = [*messages, {"role": "assistant", "content": content}, {"role": "user", "content": results}]
    raise AssertionError("the turn does not end")


def tool_spec(name: str, parameters: dict[str, str]) -> dict[str, Any]:
    properties = {parameter: {"type": kind} for parameter, kind in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"toolSpec": {"name": name, "description": name.replace("_", " "), "inputSchema": {"json": schema}}}


@pytest.mark.parametrize(
    "unit", ["a", "1", "1-", "(", "あ", "部", "名前は", "1年", "A a", "私の名前", "tan ", "-", "a@", "のは", "1を"]
)
def test_a_very_long_question_is_answered_soon(unit: str) -> None:
    tools = [
        {
            "toolSpec": {
                "name": "get_weather_order_name",
                "description": "名前 " * 500,
                "inputSchema": {
                    "json": {"type": "object", "properties": {n: {} for n in "abcdefg"}, "required": list("abcdefg")}
                },
            }
        }
    ]
    began = time.process_time()
    check({"messages": [{"role": "user", "content": [{"text": unit * 100_000}]}], "toolConfig": {"tools": tools}})
    assert time.process_time() - began < 2  # takes some milliseconds; what backtracks without bound takes minutes
