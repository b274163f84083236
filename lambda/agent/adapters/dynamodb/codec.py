"""Messages as one JSON string, which keeps every number exact and knows no depth limit.

Bytes (redacted reasoning) are marked as `{"$bytes": base64}`; a key that looks like the mark gets one more `$`.
"""

import base64
import binascii
import json
import re
from contextlib import suppress
from typing import Any

import msgspec

from agent.messages import Message

_MARK = re.compile(r"\$+bytes")


def dump_messages(messages: list[Message]) -> str:
    """The JSON string of messages. Raises ValueError for what is no JSON."""
    marked = False

    def mark(value: object) -> dict[str, str]:
        nonlocal marked
        if isinstance(value, bytes | bytearray):
            marked = True
            return {"$bytes": base64.b64encode(value).decode()}
        raise ValueError(f"{type(value).__name__} can't be stored")

    text = dump(messages, mark)
    if 'bytes":' in text and _has_mark(messages):
        return dump(_escaped(messages), mark)
    return text


def load_messages(text: str) -> list[Message] | None:
    """The messages of a JSON string, or None where it isn't a list."""
    value = load(text, _unmarked if '$bytes"' in text else None)
    return value if isinstance(value, list) else None


def _has_mark(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_MARK.fullmatch(key) or _has_mark(item) for key, item in value.items())
    return isinstance(value, list) and any(_has_mark(item) for item in value)


def _escaped(value: Any) -> Any:
    if isinstance(value, dict):
        return {"$" + key if _MARK.fullmatch(key) else key: _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value


def _unmarked(value: dict[str, Any]) -> Any:
    if set(value) == {"$bytes"} and isinstance(value["$bytes"], str):
        try:
            return base64.b64decode(value["$bytes"], validate=True)
        except binascii.Error:
            return None
    return {key[1:] if _MARK.fullmatch(key) else key: item for key, item in value.items()}


def dump(value: Any, default: Any = None) -> str:
    """Compact JSON, as written. Raises ValueError for what is no JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=default)


def load(text: str, object_hook: Any = None) -> Any:
    """The value of a JSON text, or None where it is none."""
    if text and not object_hook:
        with suppress(ValueError, RecursionError):  # what only json takes
            return msgspec.json.decode(text)
    try:
        return json.loads(text, object_hook=object_hook, parse_constant=lambda _: None) if text else None
    except (ValueError, RecursionError):
        return None
