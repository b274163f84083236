"""Time that ends: a deadline, and calls in daemon threads that can be waited for no longer than it allows.

A thread that outlives its wait is left behind, never joined: it can hold up neither the answer nor the process's end.
"""

import contextvars
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import msgspec

T = TypeVar("T")


class Deadline(msgspec.Struct, frozen=True):
    """A moment on a monotonic clock, in seconds; `reserve` is what there is after it, to save and to answer."""

    at: float
    clock: Callable[[], float] = time.monotonic
    reserve: float = 0.0

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic, reserve: float = 0.0) -> "Deadline":
        """The moment that many seconds from now."""
        return cls(clock() + seconds, clock, reserve)

    def end(self) -> "Deadline":
        """The moment at which the reserve has ended, too."""
        return Deadline(self.at + self.reserve, self.clock)

    def share(self, part: float) -> "Deadline":
        """The moment at which that part of what is left has passed."""
        return self.within(max(self.left(), 0) * part)

    def left(self) -> float:
        """Seconds until then; negative afterwards."""
        return self.at - self.clock()

    def earlier(self, seconds: float) -> "Deadline":
        """The moment that many seconds before this one."""
        return Deadline(self.at - seconds, self.clock)

    def within(self, seconds: float) -> "Deadline":
        """The moment that many seconds from now, unless this one comes first."""
        return Deadline(min(self.at, self.clock() + seconds), self.clock)

    def pause(
        self, attempt: int, first: float, sleep: Callable[[float], None] | None = None, *, least: float = 0
    ) -> bool:
        """Waits after attempt 1, 2, ..., ever longer, at least so many seconds; False, at once, where this moment comes first."""
        seconds = max(least, first * 2 ** (attempt - 1) * random.uniform(0.5, 1))
        if self.left() <= seconds:
            return False
        (sleep or time.sleep)(seconds)
        return True


def start(call: Callable[[], T]) -> "Future[T]":
    """The call, begun in a daemon thread of its own with this thread's context variables.

    Raises RuntimeError when the process can have no more threads.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - SystemExit too must reach who waits
            future.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
    return future
