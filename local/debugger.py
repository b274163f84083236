"""`breakpoint()` in a tool: the debugger at the terminal, while the function's time stands still."""

import contextlib
import os
import pdb
import sys
import threading
from collections.abc import Iterator
from time import monotonic as _now
from typing import Any


class Stopwatch:
    """A monotonic clock, in seconds, that can be stopped. While several stop it, it stands until the last one goes on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped: list[float] = []
        self._lost = 0.0

    def __call__(self) -> float:
        with self._lock:
            return (self._stopped[0] if self._stopped else _now()) - self._lost

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Within the context no time passes."""
        with self._lock:
            self._stopped.append(self._stopped[0] if self._stopped else _now())
        try:
            yield
        finally:
            with self._lock:
                since = self._stopped.pop()
                if not self._stopped:
                    self._lost += _now() - since


CLOCK = Stopwatch()
"""The time of the function in this process."""


@contextlib.contextmanager
def breakpoints() -> Iterator[None]:
    """Within the context `breakpoint()` opens this debugger, unless PYTHONBREAKPOINT or somebody else names another one."""
    if os.environ.get("PYTHONBREAKPOINT") is not None or sys.breakpointhook is not sys.__breakpointhook__:
        yield
        return
    sys.breakpointhook = _open
    try:
        yield
    finally:
        sys.breakpointhook = sys.__breakpointhook__


class _Debugger(pdb.Pdb):
    def interaction(self, *arguments: Any) -> None:
        """Ask at the terminal what to do next."""
        with CLOCK.stopped():
            super().interaction(*arguments)


def _open(*_: object, **__: object) -> None:
    _Debugger(nosigint=True).set_trace(sys._getframe().f_back)
