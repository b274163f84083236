"""What a model behind the stand-in is, and what it may answer: content, an error, or mischief on the wire."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

CHARACTERS_PER_TOKEN = 4  # the usual rough estimate for Latin text; the stand-in counts no real tokens

Mischief = Literal["drop_before", "drop_middle", "silent", "garbage"]


@dataclass(frozen=True)
class ErrorReply:
    """A refusal of the service: HTTP `status`, its exception's name such as ThrottlingException, and a message.

    With `in_stream`, a converse-stream request gets it as an exception event after the first content (if any),
    as the service does once a stream has begun; converse answers it as a plain error all the same.
    """

    error_type: str
    status: int = 400
    message: str = ""
    in_stream: bool = False


@dataclass(frozen=True)
class Reply:
    """One answer of a model.

    `content` holds Converse content blocks as they go over the wire, so bytes (redactedContent) are base64 text.
    Nothing here is checked: blocks, blank text and stop reasons that don't exist are passed on, to play bad models.
    `usage` has Converse's keys (inputTokens, ...); without it, tokens are estimated at four characters each.
    `error` answers with an error instead. `mischief` disturbs the transport: `drop_before` and `drop_middle` close
    the connection before or within the answer, `silent` never answers until the server closes, `garbage` sends a
    body that is no JSON. A stream pauses for `pause_seconds` before each of its pieces but the first.
    """

    content: list[dict[str, Any]]
    stop_reason: str = "end_turn"
    usage: dict[str, int] | None = None
    latency_seconds: float = 0.0
    pause_seconds: float = 0.0
    error: ErrorReply | None = None
    mischief: Mischief | None = None


Model = Callable[[str, dict[str, Any]], Reply]
"""A model: model id and request body (blobs still base64) in, reply out. Called from several threads at once."""


def text_reply(text: str, stop_reason: str = "end_turn") -> Reply:
    """A reply of one text block."""
    return Reply([{"text": text}], stop_reason)


def tool_use_reply(*tool_uses: tuple[str, str, dict[str, Any]], text: str = "") -> Reply:
    """A reply that asks for tools, each given as (tool use id, name, input), after an optional text."""
    content: list[dict[str, Any]] = [{"text": text}] if text else []
    content += [
        {"toolUse": {"toolUseId": tool_use_id, "name": name, "input": arguments}}
        for tool_use_id, name, arguments in tool_uses
    ]
    return Reply(content, "tool_use")


def error_reply(error_type: str, status: int = 400, message: str = "", *, in_stream: bool = False) -> Reply:
    """A reply that is an error of the service."""
    return Reply([], error=ErrorReply(error_type, status, message, in_stream))


def reasoning_block(text: str) -> dict[str, Any]:
    """A block of reasoning with a signature that is made from the text."""
    signature = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}}


def usage_of(request: dict[str, Any], reply: Reply) -> dict[str, int]:
    """The reply's usage with a total, estimated from the lengths of request and content where it has none."""
    if reply.usage is not None:
        usage = dict(reply.usage)
        usage.setdefault("totalTokens", usage.get("inputTokens", 0) + usage.get("outputTokens", 0))
        return usage
    prompt = {key: request[key] for key in ("system", "messages", "toolConfig") if key in request}
    tokens_in, tokens_out = _estimate(prompt), _estimate(reply.content)
    return {"inputTokens": tokens_in, "outputTokens": tokens_out, "totalTokens": tokens_in + tokens_out}


def _estimate(value: Any) -> int:
    return -(-len(json.dumps(value, ensure_ascii=False)) // CHARACTERS_PER_TOKEN)
