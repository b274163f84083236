"""What a server sends beside text and calls goes back to it within the turn as it came, and to nobody else."""

import json
from typing import Any

import pytest

from agent.adapters.mending import MendingModel
from agent.messages import TOOL_USE_ID, tool_uses
from agent.ports import Model
from agent.turn.fallback import Fallback
from agent.turn.repair import repair
from tests.agent.adapters.openai.openai_client import MODEL, ask, model_of
from tests.agent.adapters.openai.openai_server import Answer, OpenAIServer, asks, call, completion, delta, error, stream
from tests.agent.turn.turns import echo, make_turn
from tests.fakes import FakeJournal, FakeModel, reply, wire_body

THINKING = [{"type": "thinking", "thinking": "I need the sine first.", "signature": "c2ln"}]
SIGNED = {"extra_content": {"google": {"thought_signature": "AY89a18IwQsQ8in"}}}
LONG_ID = "call_abc__thought__" + "A/b+c=" * 130


def sent_back(first: Answer, **model: Any) -> dict[str, Any]:
    """The assistant message with the call, as it goes back with the tool's result; the result's id is looked at."""
    with OpenAIServer(first, completion("done"), **model) as server:
        assert make_turn(model_of(server), [echo]).run().answer == "done"
    asked, result = server.asked[1].body["messages"][-2:]
    assert result["tool_call_id"] == asked["tool_calls"][0]["id"]
    return dict(asked)


@pytest.mark.parametrize(
    "beside",
    [
        {"reasoning_content": "I need the sine."},
        {"reasoning_content": "First.", "thinking_blocks": THINKING},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 0}], "reasoning": "r"},
        {"something_new": {"a": [1, None, 2**62]}},
    ],
)
def test_unknown_members_of_a_message_go_back_with_its_calls(beside: dict[str, Any]) -> None:
    told = sent_back(
        completion("", call("c1"), reason="tool_calls", annotations=[], refusal=None, audio=None, **beside)
    )
    assert {name: value for name, value in told.items() if name not in ("role", "content", "tool_calls")} == beside


def test_content_in_parts_goes_back_in_parts() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Let me see."},
    ]
    assert sent_back(completion(parts, call("c1"), reason="tool_calls"))["content"] == parts


def test_unknown_members_of_a_call_go_back_with_it() -> None:
    [told] = sent_back(asks(call("c1") | SIGNED))["tool_calls"]
    assert told == call("c1") | SIGNED


@pytest.mark.parametrize("identifier", [LONG_ID, "functions.echo:0", "a b", "天気"])
def test_an_id_goes_back_as_it_came_whatever_it_is(identifier: str) -> None:
    assert sent_back(asks(call(identifier)))["tool_calls"][0]["id"] == identifier


def test_what_says_nothing_new_is_not_kept() -> None:
    with OpenAIServer(asks(call("c1"))) as server:
        answer = ask(server)
    assert [list(block) for block in answer.content] == [["toolUse"]]


def test_ids_that_are_not_told_apart_become_ours() -> None:
    with OpenAIServer(asks(call("c"), call("c") | SIGNED, call(None)), completion("done")) as server:
        make_turn(model_of(server), [echo]).run()
    messages = server.asked[1].body["messages"]
    names = [each["id"] for each in messages[2]["tool_calls"]]
    assert names[0] == "c"
    assert len(set(names)) == 3
    assert [message["tool_call_id"] for message in messages[3:]] == names


def test_what_came_in_a_stream_goes_back_too() -> None:
    first = stream(
        delta(reasoning_content="I need ", thinking_blocks=[{"type": "thinking", "thinking": "I need "}]),
        delta(reasoning_content="the sine.", thinking_blocks=[{"type": "thinking", "thinking": "the sine."}]),
        delta(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": "c2ln"}]),
        delta(thinking_blocks=[{"type": "redacted_thinking", "data": "xyz"}]),
        delta(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": {"name": "echo", "arguments": ""}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": "{}"}, **SIGNED}]),
        delta("tool_calls"),
    )
    told = sent_back(first)
    assert told["reasoning_content"] == "I need the sine."
    assert told["thinking_blocks"] == [
        {"type": "thinking", "thinking": "I need the sine.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "xyz"},
    ]
    assert told["tool_calls"] == [call("c1") | SIGNED]


def test_it_is_kept_while_a_turn_waits_and_left_out_of_older_turns() -> None:
    with OpenAIServer(
        completion("", call(LONG_ID), reasoning_content="hm", reason="tool_calls"), completion("x")
    ) as server:
        messages = make_turn(model_of(server), [echo]).run().messages
    waiting = json.loads(json.dumps(messages[:2]))
    [kept] = repair(waiting, set(), closed=False, reasoning=True, answered=False)[1:]
    assert kept == messages[1]
    assert kept["beside"]["message"] == {"reasoning_content": "hm"}
    [_, older, *_] = repair(messages, set())
    assert older.keys() == {"role", "content"}


def test_bedrock_and_another_model_get_an_id_that_they_take_and_nothing_else() -> None:
    broken = [error(503)] * 3
    first = completion("", call(LONG_ID) | SIGNED, reason="tool_calls", reasoning_content="hm")
    with OpenAIServer(first, *broken) as server:
        second = FakeModel([reply("done")])
        second.model_id = "another"
        models: list[Model] = [MendingModel(model_of(server, waits=[]), FakeJournal().warning), second]
        assert make_turn(Fallback(models, FakeJournal()), [echo]).run().answer == "done"
    [asked] = [message for message in second.requests[0].messages if tool_uses(message)]
    assert asked.keys() == {"role", "content"}
    assert TOOL_USE_ID.fullmatch(tool_uses(asked)[0]["toolUseId"])
    assert "thought" not in json.dumps(wire_body(second.requests[0], "us.amazon.nova-pro-v1:0"))


def test_a_server_that_refuses_what_it_sent_is_asked_without_it() -> None:
    first = completion("", call("c1") | SIGNED, reason="tool_calls", reasoning_content="hm")
    refusal = error(400, "messages.2.assistant.reasoning_content: property is unsupported")
    with OpenAIServer(first, refusal, completion("done")) as server:
        model = MendingModel(model_of(server), FakeJournal().warning)
        assert make_turn(model, [echo]).run().answer == "done"
    assert server.asked[2].body["messages"][2] == {"role": "assistant", "content": None, "tool_calls": [call("c1")]}


def test_what_the_model_wrote_names_it() -> None:
    with OpenAIServer(
        completion("", call("c1"), reason="tool_calls", reasoning_content="hm"), completion("x")
    ) as server:
        messages = make_turn(model_of(server), [echo]).run().messages
    assert messages[1]["model"] == MODEL
