"""The function behind HTTP, as behind an HTTP API, until interrupted."""

import errno
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

from local.gateway import Gateway
from local.problem import ProblemError
from local.screen import Screen
from local.stack import Stack


def serve(
    stack: Stack, screen: Screen, port: int, origins: Sequence[str], wait: Callable[[str], object] | None = None
) -> int:
    """Serve on 127.0.0.1 until interrupted, or until `wait` (given the URL) is over.

    Returns the exit code. Raises ProblemError if the port is taken.
    """
    one_at_a_time = threading.Lock()

    def invoke(event: dict[str, Any]) -> tuple[Any, bool]:
        with one_at_a_time:  # a file must not be written while the table changes
            return stack.invoke(event)

    def listen(method: str, path: str, status: int, seconds: float) -> None:
        screen.line(f"{method} {path}  {status}  {seconds * 1000:.0f} ms", "green" if status < 400 else "red")

    cors = {"AllowOrigins": origins, "AllowMethods": ["*"], "AllowHeaders": ["*"]} if origins else None
    try:
        gateway = Gateway(invoke, port=port, cors=cors, listener=listen)
    except OSError as error:
        reason = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise ProblemError(f"Port {port} can't be served: {reason}. --port takes another one.") from error
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with gateway:
        screen.line(f"Serving on {gateway.url}; Ctrl-C ends it. A change in lambda/ counts from the next request.")
        screen.line(_examples(gateway.url))
        try:
            wait(gateway.url) if wait else signal.pause()
        except KeyboardInterrupt:
            screen.line()
        finally:
            signal.signal(signal.SIGTERM, before)
    return 0


def _examples(url: str) -> str:
    body = '{"question": "What is the tangent of 7?", "session_id": "my-session"}'
    return f"""
  curl -s {url}/chat -H 'Content-Type: application/json' -d '{body}'
  curl -s {url}/sessions/my-session
  curl -s -X DELETE {url}/sessions/my-session
  curl -s {url}/health
"""
