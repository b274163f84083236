"""Stored turns as a script for the stand-in: the model's recorded answers, in order. Imports the core."""

import base64
import json
from collections.abc import Iterable, Sequence
from typing import Any

from agent.messages import Block
from local.recordings import Answered, Recording


def script(recordings: Iterable[Recording]) -> list[dict[str, Any]]:
    """The entries, in the format of local/bedrock/script.py."""
    return [_entry(reply) for recording in recordings for reply in recording.replies]


def _entry(reply: Answered) -> dict[str, Any]:
    content = reply.message["content"]
    kinds = [next(iter(block)) for block in content]
    entry: dict[str, Any]
    if kinds[:1] == ["text"] and set(kinds[1:]) <= {"toolUse"}:
        entry = {"text": content[0]["text"]} | ({"tool_use": _uses(content[1:])} if content[1:] else {})
    elif set(kinds) == {"toolUse"}:
        entry = {"tool_use": _uses(content)}
    else:
        entry = {"content": json.loads(json.dumps(content, default=_base64))}
    return entry if reply.stop_reason in ("tool_use", "end_turn") else {**entry, "stop_reason": reply.stop_reason}


def _uses(content: Sequence[Block]) -> list[dict[str, Any]]:
    uses = (block["toolUse"] for block in content)
    return [{"name": use["name"], "input": use["input"], "id": use["toolUseId"]} for use in uses]


def _base64(value: bytes) -> str:
    """Redacted reasoning is the one thing of a reply that isn't JSON."""
    return base64.b64encode(value).decode()
