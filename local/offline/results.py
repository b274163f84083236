"""What a tool result says: as text to report, word for word, and as a number to go on with."""

import json
from collections.abc import Iterator
from typing import Any

from local.offline.conversation import Call
from local.offline.entities import numbers_in

_KEYS_OF_A_NUMBER = ("result", "value", "answer")


def report_of(call: Call) -> str:
    """The texts as they are, JSON as one `key: value` a line, and other blocks by their kind in brackets."""
    parts: list[str] = []
    for block in call.content:
        if isinstance(block.get("text"), str):
            parts.append(block["text"])
        elif "json" in block:
            parts += [f"{path}: {leaf}" if path else leaf for path, leaf in _leaves(block["json"])]
        else:
            parts += [f"[{kind}]" for kind in block]
    return "\n".join(part for part in parts if part.strip())


def number_of(call: Call) -> float | int | None:
    """The number that a result gives: the only one of its JSON or the one under `result`, else the last of its text."""
    for block in call.content:
        if "json" in block:
            numbers = {path: numbers_in(leaf) for path, leaf in _leaves(block["json"])}
            given = [numbers[key] for key in _KEYS_OF_A_NUMBER if numbers.get(key)] or [
                n for n in numbers.values() if n
            ]
            if len(given) == 1 and len(given[0]) == 1:
                return given[0][0]
        elif isinstance(block.get("text"), str) and (found := numbers_in(block["text"][-1000:])):
            return found[-1]
    return None


def _leaves(value: Any) -> Iterator[tuple[str, str]]:
    """Paths and texts of the values in a JSON value, in order; a loop, since nothing bounds how deep it is nested."""
    rest: list[tuple[str, Any]] = [("", value)]
    while rest:
        path, item = rest.pop()
        if isinstance(item, dict):
            rest += [(f"{path}.{key}" if path else str(key), inner) for key, inner in reversed(item.items())]
        elif isinstance(item, list):
            rest += [(path, inner) for inner in reversed(item)]
        else:
            yield path, _scalar(item)


def _scalar(item: Any) -> str:
    if item is None or isinstance(item, bool):
        return json.dumps(item)
    try:
        return str(item)
    except ValueError:  # an integer of more than 4,300 digits
        return hex(item)
