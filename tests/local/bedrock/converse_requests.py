"""Requests of Converse to judge, and their parts; GOOD keeps every rule."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable
from typing import Any

from local.bedrock.issued import Issued
from local.bedrock.rules import violations

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
CLAUDE_47 = "anthropic.claude-opus-4-7"
FABLE = "us.anthropic.claude-fable-5-1"
NOVA = "amazon.nova-pro-v1:0"
LLAMA = "us.meta.llama3-3-70b-instruct-v1:0"
MISTRAL = "mistral.mistral-large-2407-v1:0"
COHERE = "cohere.command-r-plus-v1:0"
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"
PROMPT = "arn:aws:bedrock:us-east-1:123456789012:prompt/ABCDEFGHIJ:1"

Request = dict[str, Any]
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "look it up", "signature": "c2ln"}}}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def use(tool_use_id: str, tool_input: Any = None, name: str = "sine") -> dict[str, Any]:
    return {
        "toolUse": {"toolUseId": tool_use_id, "name": name, "input": {"x": 1} if tool_input is None else tool_input}
    }


def result(tool_use_id: str, *content: Any, status: str | None = None) -> dict[str, Any]:
    block: dict[str, Any] = {"toolUseId": tool_use_id, "content": list(content) or [{"json": {"sine": 0.84}}]}
    if status:
        block["status"] = status
    return {"toolResult": block}


def tool(name: str = "sine", **schema: Any) -> dict[str, Any]:
    root = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"], **schema}
    return {"toolSpec": {"name": name, "description": "The sine.", "inputSchema": {"json": root}}}


def asking(*messages: Any, **rest: Any) -> Request:
    return {"messages": list(messages) or [user(text("hi"))], "toolConfig": {"tools": [tool()]}, **rest}


def document(name: str = "report", size: int = 3, kind: str = "txt") -> dict[str, Any]:
    return {"document": {"name": name, "format": kind, "source": {"bytes": base64.b64encode(b"x" * size).decode()}}}


def cache_point(ttl: str = "5m") -> dict[str, Any]:
    return {"cachePoint": {"type": "default", "ttl": ttl}}


def thinking(**rest: Any) -> dict[str, Any]:
    return {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}, **rest}


GOOD: Request = {
    "system": [text("You are kind."), cache_point("1h")],
    "messages": [
        user(text("What is the sine of 1?")),
        assistant(THOUGHT, text("Let me see."), use("t1"), use("t2")),
        user(result("t1"), result("t2", text("no such number"), status="error"), text("Conclude."), cache_point()),
        assistant(text("0.84")),
        user(text("Thanks. And this?"), document(), {"image": {"format": "png", "source": {"bytes": "eA=="}}}),
    ],
    "toolConfig": {"tools": [tool(), cache_point("1h")], "toolChoice": {"auto": {}}},
    "inferenceConfig": {"maxTokens": 4096, "stopSequences": ["END"]},
    "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    "additionalModelResponseFieldPaths": ["/stop_sequence"],
    "requestMetadata": {"session": "s-1"},
}


def changed(change: Callable[[Request], Any]) -> Request:
    request = copy.deepcopy(GOOD)
    change(request)
    return request


def broken(model_id: str, request: Request, issued: Issued | None = None) -> set[str]:
    return {violation.rule for violation in violations(model_id, request, issued=issued) if violation.level == "error"}


def warned(model_id: str, request: Request) -> set[str]:
    return {violation.rule for violation in violations(model_id, request) if violation.level == "warn"}


def of(**members: Any) -> Request:
    return changed(lambda request: request.update(members))


def with_inference(**settings: Any) -> Request:
    return asking(inferenceConfig=settings)


ANSWERED = (user(text("q")), assistant(use("t1")), user(result("t1")))


QUESTION = user(text("q"))


def issued_with(*content: Any, before: Request | None = None) -> Issued:
    """A record that holds one answer to `before`, by default to the plain question."""
    issued = Issued()
    issued.record(before or asking(QUESTION), list(content))
    return issued
