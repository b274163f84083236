"""Code of a tool's author is called from here alone: whatever it raises, sys.exit() too, is caught in one place."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def outcome(call: Callable[[], T]) -> tuple[T, None] | tuple[None, BaseException]:
    """What the call gives, or what it raised."""
    try:
        return call(), None
    except BaseException as error:  # noqa: BLE001 - a bug there must end neither a turn nor the function
        return None, error
