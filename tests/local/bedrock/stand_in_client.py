"""A real boto3 client of a stand-in of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import boto3
from botocore.config import Config

from local.bedrock.reply import Model, Reply, reasoning_block
from local.bedrock.server import BedrockServer

MODEL_ID = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
QUESTION = [{"role": "user", "content": [{"text": "hi"}]}]
TOOLS = {"tools": [{"toolSpec": {"name": "sine", "inputSchema": {"json": {"type": "object"}}}}]}


@contextmanager
def connected(model: Model, read_timeout: float = 5) -> Iterator[tuple[BedrockServer, Any]]:
    """A server with this model, and a client of it that tries once."""
    config = Config(read_timeout=read_timeout, connect_timeout=5, retries={"total_max_attempts": 1})
    with (
        BedrockServer(model) as server,
        closing(boto3.client("bedrock-runtime", "us-east-1", endpoint_url=server.url, config=config)) as client,
    ):
        yield server, client


def converse(model: Model, messages: Any = QUESTION, **rest: Any) -> Any:
    with connected(model) as (_, client):
        return client.converse(modelId=MODEL_ID, messages=messages, **rest)


def streamed(model: Model, **rest: Any) -> list[dict[str, Any]]:
    with connected(model) as (_, client):
        return list(client.converse_stream(modelId=MODEL_ID, messages=QUESTION, **rest)["stream"])


RICH = Reply(
    [
        reasoning_block("The sine of 1 is to be looked up, so a tool is needed."),
        {"reasoningContent": {"redactedContent": "AP8="}},
        {"text": "少々お待ちください。🌞 Let me have a look at that for you."},
        {
            "toolUse": {
                "toolUseId": "t1",
                "name": "sine",
                "input": {"x": 1, "言語": "日本語", "more": [1.5, None, True]},
            }
        },
        {"toolUse": {"toolUseId": "t2", "name": "sine", "input": {}}},
    ],
    "tool_use",
    {"inputTokens": 7, "outputTokens": 5, "cacheReadInputTokens": 3},
)
RICH_CONTENT = [*RICH.content[:1], {"reasoningContent": {"redactedContent": b"\x00\xff"}}, *RICH.content[2:]]
