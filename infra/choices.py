"""Rules for the values of cdk.json: each turns a JSON value, or the string that `-c key=value` gives, into a typed one.

A rule raises ValueError for what it does not take; `allowed` says in words what it takes.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Number = TypeVar("Number", int, float)


# Of a value, what is told: enough to know it again.
TOLD = 200


class ConfigError(ValueError):
    """A choice of the deployment that can't be: one sentence with the key, its value and what is allowed."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        told = repr(value)
        super().__init__(f"{key} is {told if len(told) <= TOLD else told[:TOLD] + '…'}, but must be {allowed}")
        self.key = key


class ConfigErrors(ConfigError):
    """Several at once, each a sentence on a line of its own."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        ValueError.__init__(self, "\n".join(map(str, errors)))
        self.key = errors[0].key


class UnreadableError(ConfigError):
    """The file of the choices can't be read, or holds none."""

    def __init__(self, name: str, reason: object) -> None:
        ValueError.__init__(self, f"{name} can't be read: {reason}")
        self.key = name


@dataclass(frozen=True)
class Rule:
    """What values a key takes: in words, and as a function that raises ValueError (or TypeError) for others."""

    allowed: str
    parse: Callable[[object], object]


def matching(pattern: str, allowed: str) -> Rule:
    """A text that matches the whole pattern."""
    return Rule(allowed, lambda value: _matched(pattern, value))


def one_of(*names: str) -> Rule:
    """One of a few words."""
    return matching("|".join(map(re.escape, names)), "one of " + ", ".join(names))


def whole(low: int, high: int) -> Rule:
    """A whole number from low to high, both included."""

    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError(value)
        return _within(int(value), low, high)

    return Rule(f"a whole number from {low} to {high}", parse)


def whole_of(numbers: Iterable[int]) -> Rule:
    """One of a few whole numbers."""
    by_text = {str(number): number for number in numbers}

    def parse(value: object) -> int:
        return by_text[_matched("|".join(by_text), str(value))]

    return Rule("one of " + ", ".join(by_text), parse)


def number(low: float, high: float) -> Rule:
    """A number from low to high, both included."""

    def parse(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(value)
        return _within(float(value), low, high)

    return Rule(f"a number from {low:g} to {high:g}", parse)


def flag() -> Rule:
    """true or false."""

    def parse(value: object) -> bool:
        return {"true": True, "false": False}[str(value).lower()]

    return Rule("true or false", parse)


def list_of(pattern: str, allowed: str) -> Rule:
    """A JSON list of texts, or one text with commas between them; the empty text is the empty list."""

    def parse(value: object) -> tuple[str, ...]:
        if isinstance(value, str):
            value = [part for part in map(str.strip, value.split(",")) if part]
        if not isinstance(value, list):
            raise TypeError(value)
        return tuple(_matched(pattern, item) for item in value)

    return Rule(allowed, parse)


def json_object() -> Rule:
    """A JSON object, or its text; kept as its text."""

    def parse(value: object) -> str:
        found = json.loads(value, parse_constant=_refuse) if isinstance(value, str) else value
        if not isinstance(found, dict):
            raise TypeError(value)
        return json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    return Rule("a JSON object", parse)


def texts_by_name() -> Rule:
    """A JSON object of texts, or its text, within what AWS takes for tags."""

    def parse(value: object) -> dict[str, str]:
        found = json.loads(value) if isinstance(value, str) else value
        if not isinstance(found, dict):
            raise TypeError(value)
        name, text = r"(?!aws:)[\w .:/=+@-]{1,128}", r"[\w .:/=+@-]{0,256}"
        return {_matched(name, key): _matched(text, item) for key, item in found.items()}

    return Rule("a JSON object of names and texts, as tags may be", parse)


def optional(rule: Rule, *, empty_is_null: bool = True) -> Rule:
    """The rule, or null; `-c key=` with nothing behind it is null too, unless empty says something of its own."""

    def parse(value: object) -> object:
        return None if value is None or (empty_is_null and value == "") else rule.parse(value)

    return Rule(f"{rule.allowed}, or null", parse)


def _matched(pattern: str, value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise ValueError(value)
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _within(value: Number, low: Number, high: Number) -> Number:
    if not (math.isfinite(value) and low <= value <= high):
        raise ValueError(value)
    return value
