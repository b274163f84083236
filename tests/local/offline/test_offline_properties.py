"""Whatever a request holds, the offline model answers it, with blocks that Converse takes."""

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
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "array", "object", "null"])
SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.one_of(TYPES, st.lists(TYPES, max_size=2)),
        "description": TEXTS,
        "enum": st.lists(SCALARS, max_size=3),
        "items": st.one_of(st.booleans(), st.builds(lambda kind: {"type": kind}, TYPES)),
        "anyOf": st.lists(st.one_of(st.booleans(), st.builds(lambda kind: {"type": kind}, TYPES)), max_size=2),
        "format": st.sampled_from(["date", "email", "uri", "uuid"]),
    },
)
NAMES = st.sampled_from(
    ["sine", "cosine", "divide_numbers", "lookup_order", "get_weather", "calculate", "add", "T-1_x", "a"]
)
PARAMETERS = st.sampled_from(
    ["x", "y", "city", "order_id", "name", "birthday", "formula", "to_unit", "days", "query", "?"]
)


@st.composite
def tool_specs(draw: st.DrawFn) -> dict[str, Any]:
    properties = draw(st.dictionaries(PARAMETERS, st.one_of(SCHEMAS, st.booleans()), max_size=4))
    schema = {"type": "object", "properties": properties, "required": draw(st.lists(PARAMETERS, max_size=3))}
    return {"toolSpec": {"name": draw(NAMES), "description": draw(TEXTS), "inputSchema": {"json": schema}}}


IDS = st.sampled_from(["tooluse_0", "tooluse_1", "tooluse_2", "other"])
BLOCKS = st.one_of(
    st.builds(lambda text: {"text": text}, TEXTS),
    st.builds(lambda i, name, value: {"toolUse": {"toolUseId": i, "name": name, "input": value}}, IDS, NAMES, VALUES),
    st.builds(
        lambda i, content, status: {"toolResult": {"toolUseId": i, "content": content, "status": status}},
        IDS,
        st.lists(
            st.one_of(
                st.builds(lambda text: {"text": text}, TEXTS),
                st.builds(lambda value: {"json": value}, VALUES),
                st.just({"image": {"format": "png"}}),
            ),
            max_size=3,
        ),
        st.sampled_from(["success", "error"]),
    ),
    st.dictionaries(st.sampled_from(["cachePoint", "reasoningContent", "unknown", "text"]), VALUES, max_size=2),
)
MESSAGES = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant"]),
    st.lists(BLOCKS, max_size=4),
)
REQUESTS = st.one_of(
    st.dictionaries(st.sampled_from(["messages", "toolConfig", "system"]), VALUES),
    st.builds(
        lambda messages, tools: {"messages": messages, "toolConfig": {"tools": tools}},
        st.lists(MESSAGES, max_size=6),
        st.lists(tool_specs(), max_size=4),
    ),
)


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


@settings(max_examples=200, deadline=None)
@given(REQUESTS)
def test_any_request_gets_a_valid_reply(request: dict[str, Any]) -> None:
    check(request)


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
        st.builds(lambda text: {"text": text or "-"}, TEXTS),
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


def test_a_result_nested_deeper_than_the_stack_and_a_huge_integer_are_told() -> None:
    deep: Any = 10**5000
    for _ in range(5000):
        deep = {"k": [deep]}
    use = {"toolUse": {"toolUseId": "t", "name": "lookup", "input": {}}}
    result = {"toolResult": {"toolUseId": "t", "content": [{"json": deep}], "status": "success"}}
    question = {"role": "user", "content": [{"text": "look"}]}
    check({"messages": [question, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]})
