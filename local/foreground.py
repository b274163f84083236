"""A server in the foreground of a terminal: its port, and until when it runs."""

import errno
import signal
from collections.abc import Callable

from local.gateway import Gateway
from local.problem import ProblemError
from local.screen import Screen


def opened(make: Callable[[], Gateway], port: int) -> Gateway:
    """What `make` makes. Raises ProblemError where its port is taken."""
    try:
        return make()
    except OSError as error:
        reason = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise ProblemError(f"Port {port} can't be served: {reason}. --port takes another one.") from error


def until_interrupted(screen: Screen, wait: Callable[[], object] = signal.pause) -> None:
    """Returns at Ctrl-C or SIGTERM, or when `wait` is over."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        wait()
    except KeyboardInterrupt:
        screen.line()
    finally:
        signal.signal(signal.SIGTERM, before)
