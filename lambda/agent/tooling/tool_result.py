"""What a tool returned, as the content of a toolResult: never blank, never a bare value, never over the limit."""

import json
from typing import Any

import msgspec

from agent.errors import ToolError
from agent.messages import Block, clean_text

NOTHING = "(The tool has run and returned an empty text.)"  # Bedrock refuses a blank one of some models
_LARGEST_BLOCK = 64  # levels of nesting that are still sent as JSON; deeper ones go as text


def result_content(value: object, limit: int) -> list[Block]:
    """One block: an object as `json`, a text as `text`, everything else as `{"result": value}`.

    Dates become ISO texts, decimals numbers, sets lists, dataclasses objects, bytes base64. What is longer than `limit`
    characters becomes a text that is cut and says so. Raises ToolError for what JSON can't hold.
    """
    if isinstance(value, str):
        return [{"text": cut(clean_text(value), limit) if value.strip() else NOTHING}]
    text = _json(value)
    if len(text) > limit:
        return [{"text": cut(text, limit)}]
    try:
        plain = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return [{"text": text}]
    if not _is_portable(plain, _LARGEST_BLOCK):
        return [{"text": text}]
    return [{"json": plain if isinstance(plain, dict) else {"result": plain}}]


def _json(value: object) -> str:
    try:
        return _ENCODER.encode(value).decode()
    except (OverflowError, UnicodeEncodeError):
        pass  # an integer beyond 64 bits or half of a surrogate pair, which the slower way can write
    except (TypeError, RecursionError, ValueError) as error:
        raise ToolError("The tool returned something that JSON can't hold.") from error
    try:
        return clean_text(json.dumps(value, ensure_ascii=False, default=_other))
    except (TypeError, RecursionError, ValueError) as error:
        raise ToolError("The tool returned something that JSON can't hold.") from error


def _other(value: Any) -> Any:
    """What neither msgspec nor json knows. A generator is refused: reading it could take for ever."""
    if hasattr(value, "__next__") or hasattr(value, "__await__"):
        raise TypeError(f"a tool can't return a {type(value).__name__}")
    return str(value)


def _is_portable(value: Any, depth: int) -> bool:
    if not isinstance(value, dict | list):
        return not isinstance(value, int) or -(2**63) <= value < 2**63
    return depth > 0 and all(_is_portable(v, depth - 1) for v in (value.values() if isinstance(value, dict) else value))


def cut(text: str, limit: int) -> str:
    """The text, or its first `limit` characters and a sentence that says so."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[Cut: these are the first {limit:,} of {len(text):,} characters.]"


_ENCODER = msgspec.json.Encoder(enc_hook=_other, decimal_format="number")
