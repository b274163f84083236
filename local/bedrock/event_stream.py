"""A reply as converse-stream sends it: AWS event-stream frames, which have two checksums and typed headers."""

from __future__ import annotations

import json
import struct
from binascii import crc32
from collections.abc import Iterator
from typing import Any

from local.bedrock.reply import ErrorReply, Reply

_MOST_PIECES, _LEAST_CHARACTERS = 20, 8  # of a text that is cut into deltas
_STRING_HEADER = 7  # the type code of a string value
_CHECKSUM_BYTES = 4


def frames(reply: Reply, usage: dict[str, int], latency_milliseconds: int) -> Iterator[bytes]:
    """The frames of a reply in the service's order; with an error, its content and then the exception."""
    yield _event("messageStart", {"role": "assistant"})
    for index, block in enumerate(reply.content):
        start, deltas = _parts(block)
        if start is not None:
            yield _event("contentBlockStart", {"contentBlockIndex": index, "start": start})
        for delta in deltas:
            yield _event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
        yield _event("contentBlockStop", {"contentBlockIndex": index})
    if reply.error is not None:
        yield _exception(reply.error)
        return
    yield _event("messageStop", {"stopReason": reply.stop_reason})
    yield _event("metadata", {"usage": usage, "metrics": {"latencyMs": latency_milliseconds}})


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """One frame: lengths, their checksum, headers, payload, and the checksum of all of it (all big-endian)."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    total = 2 * 4 + _CHECKSUM_BYTES + len(head) + len(payload) + _CHECKSUM_BYTES
    prelude = struct.pack("!II", total, len(head))
    message = prelude + struct.pack("!I", crc32(prelude)) + head + payload
    return message + struct.pack("!I", crc32(message))


def _header(name: str, value: str) -> bytes:
    name_bytes, value_bytes = name.encode(), value.encode()
    prefix = struct.pack("!B", len(name_bytes)) + name_bytes
    return prefix + struct.pack("!BH", _STRING_HEADER, len(value_bytes)) + value_bytes


def _event(event_type: str, payload: dict[str, Any]) -> bytes:
    headers = {":event-type": event_type, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, json.dumps(payload).encode())


def _exception(error: ErrorReply) -> bytes:
    exception_type = error.error_type[:1].lower() + error.error_type[1:]
    headers = {":exception-type": exception_type, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, json.dumps({"message": error.message}).encode())


def _parts(block: Any) -> tuple[dict[str, Any] | None, list[Any]]:
    """What a content block starts with (tool uses alone do) and its deltas; an unknown block passes whole."""
    if not isinstance(block, dict):
        return None, [block]
    if isinstance(text := block.get("text"), str):
        return None, [{"text": piece} for piece in _pieces(text)]
    if isinstance(use := block.get("toolUse"), dict):
        # A string is streamed as it stands, so that an input that was cut in its middle can be played.
        arguments = use.get("input", {})
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        start = {name: value for name, value in use.items() if name != "input"}
        return {"toolUse": start}, [{"toolUse": {"input": piece}} for piece in _pieces(written)]
    if isinstance(reasoning := block.get("reasoningContent"), dict):
        return None, [{"reasoningContent": delta} for delta in _reasoning_deltas(reasoning)]
    return None, [block]


def _reasoning_deltas(reasoning: dict[str, Any]) -> Iterator[dict[str, Any]]:
    thought = reasoning.get("reasoningText")
    if not isinstance(thought, dict):
        yield reasoning
        return
    yield from ({"text": piece} for piece in _pieces(str(thought.get("text", ""))))
    if "signature" in thought:
        yield {"signature": thought["signature"]}


def _pieces(text: str) -> list[str]:
    size = max(_LEAST_CHARACTERS, -(-len(text) // _MOST_PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]
