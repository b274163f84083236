"""ConverseStream: the events that a real boto3 client reads."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import pytest
from botocore.exceptions import (
    EventStreamError,
    ResponseStreamingError,
)
from urllib3.exceptions import HTTPError

from local.bedrock.reply import ErrorReply, Reply, tool_use_reply
from local.bedrock.script import ScriptedModel
from tests.local.bedrock.stand_in_client import MODEL_ID, QUESTION, RICH, RICH_CONTENT, TOOLS, connected, streamed


def put_together(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The content of a streamed message, tool inputs parsed."""
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        if start := event.get("contentBlockStart"):
            blocks[start["contentBlockIndex"]] = {"toolUse": {**start["start"]["toolUse"], "input": ""}}
        if delta := event.get("contentBlockDelta"):
            add(blocks.setdefault(delta["contentBlockIndex"], {}), delta["delta"])
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    return [blocks[index] for index in sorted(blocks)]


def add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "redactedContent" in delta["reasoningContent"]:
        block["reasoningContent"] = delta["reasoningContent"]
    else:
        thought = block.setdefault("reasoningContent", {"reasoningText": {}})["reasoningText"]
        for key, value in delta["reasoningContent"].items():
            thought[key] = thought.get(key, "") + value


def test_converse_stream_sends_the_same_in_pieces_and_in_order() -> None:
    events = streamed(lambda model_id, request: RICH, toolConfig=TOOLS)
    assert put_together(events) == RICH_CONTENT
    kinds = [kind for event in events for kind in event]
    assert kinds[0] == "messageStart"
    assert kinds[-3:] == ["contentBlockStop", "messageStop", "metadata"]
    assert kinds.count("contentBlockStart") == 2
    assert kinds.count("contentBlockStop") == 5
    deltas = [event["contentBlockDelta"] for event in events if "contentBlockDelta" in event]
    assert all(sum(delta["contentBlockIndex"] == index for delta in deltas) > 1 for index in (0, 2, 3))
    assert events[-2]["messageStop"]["stopReason"] == "tool_use"
    assert events[-1]["metadata"]["usage"]["totalTokens"] == 12


def test_an_error_within_a_stream_comes_after_its_content() -> None:
    reply = Reply([{"text": "so far"}], error=ErrorReply("ModelStreamErrorException", 424, "it broke", in_stream=True))
    seen: list[dict[str, Any]] = []
    with connected(lambda model_id, request: reply) as (_, client):
        stream = client.converse_stream(modelId=MODEL_ID, messages=QUESTION)["stream"]
        with closing(stream), pytest.raises(EventStreamError, match=r"modelStreamErrorException.*it broke"):
            seen.extend(stream)
    assert put_together(seen) == [{"text": "so far"}]


def test_a_stream_that_drops_in_its_middle_has_begun_and_is_an_error() -> None:
    seen: list[dict[str, Any]] = []
    with connected(ScriptedModel([{"drop": "middle", "text": "a" * 500}])) as (_, client):
        stream = client.converse_stream(modelId=MODEL_ID, messages=QUESTION)["stream"]
        with closing(stream), pytest.raises((ResponseStreamingError, HTTPError)):
            seen.extend(stream)
    assert seen[0] == {"messageStart": {"role": "assistant"}}
    assert not any("messageStop" in event for event in seen)


def test_tool_input_that_was_cut_is_streamed_as_it_stands() -> None:
    events = streamed(lambda model_id, request: tool_use_reply(("t1", "sine", '{"x": ')))  # type: ignore[arg-type]
    pieces = [
        event["contentBlockDelta"]["delta"]["toolUse"]["input"] for event in events if "contentBlockDelta" in event
    ]
    assert "".join(pieces) == '{"x": '
