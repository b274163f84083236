"""Converse in chat completions and back, against an endpoint that refuses what OpenAI refuses."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.adapters.openai.errors import RefusedError
from agent.adapters.openai.messages import parameters_of, reply_of
from agent.messages import Usage, assistant_text, tool_result, user_text
from agent.ports import ModelRequest
from agent.turn.model_reply import clean_reply
from tests.agent.adapters.openai.openai_client import MODEL, SPEC, ask, request
from tests.agent.adapters.openai.openai_server import OpenAIServer, as_json, asks, call, completion
from tests.agent.turn.strategies import EXAMPLES, IDS, JSON, NAMES
from tests.fakes import thought, use

USED = {"role": "assistant", "content": [{"text": "I look."}, use("c1", "echo", {"text": "é"}), use("c2", "boom")]}
ANSWERED = {
    "role": "user",
    "content": [
        {"toolResult": {"toolUseId": "c1", "content": [{"text": "a"}, {"json": {"b": 1}}], "status": "success"}},
        tool_result("c2", "It is closed."),
    ],
}


def test_a_conversation_with_tools_is_told_as_openai_wants_it() -> None:
    asked = request(user_text("first"), USED, ANSWERED, system="You help.", tools=[SPEC])  # type: ignore[arg-type]
    with OpenAIServer(completion("done")) as server:
        ask(server, asked)
    body = server.asked[0].body
    assert body == {
        "model": MODEL,
        "stream": False,
        "max_tokens": 64,
        "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": "I look.", "tool_calls": body["messages"][2]["tool_calls"]},
            {"role": "tool", "tool_call_id": "c1", "content": 'a\n{"b":1}'},
            {"role": "tool", "tool_call_id": "c2", "content": "Error: It is closed."},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "echo",
                    "description": "Say it again.",
                    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
                },
            }
        ],
    }
    calls = body["messages"][2]["tool_calls"]
    assert [(c["id"], c["function"]["name"]) for c in calls] == [("c1", "echo"), ("c2", "boom")]
    assert [json.loads(c["function"]["arguments"]) for c in calls] == [{"text": "é"}, {}]


@pytest.mark.parametrize("own", [{}, {"description": "The root's own."}])
def test_a_description_that_openai_would_refuse_goes_on_in_the_schema(own: dict[str, str]) -> None:
    text = "".join(f"{n} words. " for n in range(200))
    schema = {"type": "object", "properties": {}, **own}
    tools = [{"toolSpec": {"name": "x", "description": text, "inputSchema": {"json": schema}}}]
    [function] = (each["function"] for each in parameters_of(ModelRequest("", [user_text("q")], tools))["tools"])
    assert len(function["description"]) == 1024
    told = function["description"] + function["parameters"]["description"]
    assert told == text + "".join(f"\n\n{each}" for each in own.values())
    assert schema == {"type": "object", "properties": {}, **own}


def test_what_is_blank_or_unset_is_not_sent() -> None:
    with OpenAIServer(completion("done")) as server:
        ask(server, request(system=" \n"))
    assert server.asked[0].body == {
        "model": MODEL,
        "stream": False,
        "max_tokens": 64,
        "messages": [{"role": "user", "content": "question"}],
    }


def test_what_is_set_for_every_answer_is_sent() -> None:
    with OpenAIServer(completion("done")) as server:
        fields = {"reasoning_effort": "low", "model": "other"}
        ask(server, request(stop_sequences=["END"]), temperature=0.0, top_p=0.5, request_fields=fields)
    body = server.asked[0].body
    assert (body["temperature"], body["top_p"], body["stop"]) == (0, 0.5, ["END"])
    assert (body["reasoning_effort"], body["model"]) == ("low", MODEL)


def test_several_texts_are_joined_and_reasoning_is_not_sent_back() -> None:
    thinking = {"role": "assistant", "content": [thought(), {"text": "a"}, {"text": "b"}]}
    with OpenAIServer(completion("done")) as server:
        ask(server, request(user_text("q"), thinking, user_text("next")))  # type: ignore[arg-type]
    assert server.asked[0].body["messages"][1] == {"role": "assistant", "content": "a\nb"}


def test_tool_uses_without_a_text_have_no_content() -> None:
    used: Any = {"role": "assistant", "content": [use("c1")]}
    results: Any = {"role": "user", "content": [tool_result("c1", "ok", "success"), {"text": "Go on."}]}
    with OpenAIServer(completion("done")) as server:
        ask(server, request(user_text("q"), used, results))
    assert server.asked[0].body["messages"][1]["content"] is None
    assert server.asked[0].body["messages"][2:] == [
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        {"role": "user", "content": "Go on."},
    ]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (completion("hello"), "hello"),
        (completion([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ab"),
        (completion([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, "b"]), "b"),
        (completion([{"type": "refusal", "refusal": "I can't."}]), "I can't."),
        (completion(None, refusal="I can't."), "I can't."),
        (completion("<think>hm\nhm</think>\n\nhello"), "hello"),
        (completion("<reasoning>hm</reasoning>hello"), "hello"),
        (completion("say <think>hm</think>"), "say <think>hm</think>"),
        (completion("hello", reasoning_content="hm", reasoning="hm", reasoning_details=[{"text": "hm"}]), "hello"),
        (completion(None), None),
        (completion(""), None),
        (completion(7), None),
    ],
)
def test_the_text_of_an_answer_is_found(answer: Any, text: str | None) -> None:
    with OpenAIServer(answer) as server:
        reply = ask(server)
    assert reply.content == ([{"text": text}] if text else [])
    assert reply.model_id == MODEL


@pytest.mark.parametrize(
    ("arguments", "tool_input"),
    [
        ('{"text": "a"}', {"text": "a"}),
        ({"text": "a"}, {"text": "a"}),
        ("", {}),
        (" ", {}),
        (None, {}),
        ('{"text": "a', '{"text": "a'),
        ("[1]", [1]),
        ('"text"', "text"),
        ("[" * 100_000, "[" * 100_000),
        ("9" * 5000, "9" * 5000),
        ('{"a": NaN}', pytest.approx({"a": float("nan")}, nan_ok=True)),
        (5, 5),
    ],
)
def test_arguments_are_read_and_broken_ones_are_passed_on(arguments: Any, tool_input: Any) -> None:
    with OpenAIServer(asks(call("c1", "echo", arguments))) as server:
        reply = ask(server, request(tools=[SPEC]))
    assert reply.content == [{"toolUse": {"toolUseId": "c1", "name": "echo", "input": tool_input}}]
    assert reply.stop_reason == "tool_use"


def test_ids_and_names_that_are_missing_or_double_are_put_right_by_the_core() -> None:
    strange = [call(None), call("c1"), call("c1"), {"id": "c2"}, "nonsense", call(5, None), {"function": None}]
    with OpenAIServer(completion("I look.", *strange, reason="tool_calls")) as server:
        reply = ask(server)
    message, calls = clean_reply(reply.content, set())
    assert message is not None
    assert len({c.tool_use_id for c in calls}) == len(calls) == 7
    assert [bool(c.problem) for c in calls] == [False, False, False, True, True, True, True]


def test_the_older_function_call_is_a_tool_use() -> None:
    with OpenAIServer(completion(None, reason="function_call", function_call={"name": "echo", "arguments": "{}"})) as s:
        reply = ask(s)
    assert reply.content == [{"toolUse": {"toolUseId": None, "name": "echo", "input": {}}}]
    assert reply.stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("reason", "without_tools", "with_tools"),
    [
        ("stop", "end_turn", "tool_use"),
        ("STOP", "end_turn", "tool_use"),
        ("eos", "end_turn", "tool_use"),
        (None, "end_turn", "tool_use"),
        ("", "end_turn", "tool_use"),
        (7, "end_turn", "tool_use"),
        ("tool_calls", "end_turn", "tool_use"),
        ("function_call", "end_turn", "tool_use"),
        ("length", "max_tokens", "max_tokens"),
        ("model_length", "max_tokens", "max_tokens"),
        ("content_filter", "content_filtered", "content_filtered"),
        ("load", "load", "load"),
        ("\ud83c", "\ufffd", "\ufffd"),
    ],
)
def test_every_finish_reason_has_its_stop_reason(reason: Any, without_tools: str, with_tools: str) -> None:
    with OpenAIServer(completion("a", reason=reason), completion("a", call("c1"), reason=reason)) as server:
        assert [ask(server).stop_reason, ask(server).stop_reason] == [without_tools, with_tools]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, Usage(9, 2)),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 6}},
            Usage(3, 2, 6),
        ),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 60}}, Usage(0, 0, 9)),
        ({"prompt_tokens": 9, "completion_tokens": None, "prompt_tokens_details": None}, Usage(9)),
        ({"prompt_tokens": "9", "completion_tokens": -2}, Usage()),
        ("none", Usage()),
        ([], Usage()),
    ],
)
def test_tokens_are_counted_as_converse_counts_them(usage: Any, counted: Usage) -> None:
    with OpenAIServer(completion("a", usage=usage)) as server:
        assert ask(server).usage == counted


def test_an_answer_without_usage_costs_nothing() -> None:
    with OpenAIServer(as_json({"choices": [{"message": {"content": "a"}}]})) as server:
        reply = ask(server)
    assert (reply.usage, reply.stop_reason) == (Usage(), "end_turn")


ODD = st.one_of(JSON, st.text(max_size=5))
ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        "choices": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "finish_reason": st.sampled_from(["stop", "length", "tool_calls", None]) | ODD,
                    "message": st.fixed_dictionaries(
                        {},
                        optional={
                            "content": ODD,
                            "refusal": ODD,
                            "function_call": ODD,
                            "tool_calls": st.lists(st.builds(call, IDS, NAMES, ODD) | JSON, max_size=3) | JSON,
                        },
                    )
                    | JSON,
                },
            )
            | JSON,
            max_size=2,
        )
        | JSON,
        "usage": JSON,
    },
)


@EXAMPLES
@given(ANSWERS)
def test_whatever_comes_is_a_reply_or_refused(answer: dict[str, Any]) -> None:
    try:
        reply = reply_of(answer, MODEL)
    except RefusedError:
        return
    clean_reply(reply.content, set())
    assert reply.stop_reason
    assert min(reply.usage.input_tokens, reply.usage.output_tokens) >= 0


def test_an_answer_of_the_assistant_goes_back_as_it_came() -> None:
    with OpenAIServer(completion("again")) as server:
        ask(server, request(user_text("q"), assistant_text("a"), user_text("next")))
    assert server.asked[0].body["messages"][1] == {"role": "assistant", "content": "a"}
