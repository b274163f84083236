"""Code of a user's is called from here alone, so that whatever it raises is caught in one place and told as what it is."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def outcome(call: Callable[[], T]) -> tuple[T, None] | tuple[None, BaseException]:
    """What the call gives, or what it raised."""
    try:
        return call(), None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a bug of the user's, sys.exit() too, must not end the function
        return None, error
