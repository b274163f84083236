"""Streamed answers: server-sent events of a turn while it runs, and whole answers by the same way out.

What is to be sent waits in a queue of bounded size, and a thread of its own writes it: no turn waits for its reader.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from functools import partial
from typing import Any

import msgspec

from agent.deadline import start
from agent.edge.events import HttpRequest
from agent.edge.responses import http_response
from agent.listening import Outlet
from agent.turn.telling import Telling

EVENTS = "text/event-stream"
# The content type of a response that begins with a prelude; as AWS's runtime client for Node.js sends it.
_WITH_PRELUDE = "application/vnd.awslambda.http-integration-response"
_MOST_WAITING = 1_000_000  # bytes that wait for a reader
_COMMENT = b": \n\n"
_QUIET = 8.0  # seconds after which a comment is sent; gateways and proxies drop what is silent
_LAST = 1.0  # seconds of the function's time that are left when a reader is waited for no longer
_GOING = 0.2  # seconds that a writer may take to notice that its way was cut


class Streams(msgspec.Struct, frozen=True):
    """Where answers stream: `open` begins one, of an invocation and a content type, or gives None where that can't be.

    `warn` is told of answers that did not arrive; after `quiet` seconds of silence a comment is sent.
    """

    open: Callable[[str, str], Outlet | None]
    warn: Callable[..., None]
    quiet: float = _QUIET

    def of(self, event: object, request: HttpRequest | None, invocation: str, origins: tuple[str, ...]) -> "Streamed":
        """How this event is answered. An HTTP API (payload 2.0) streams nothing, and a direct event only what asks for it."""
        if request is None:
            return Streamed(self, invocation, None, isinstance(event, dict) and event.get("stream") is True)
        if not (request.is_function_url or request.is_rest):
            return Streamed(self, invocation, None, listens=False)
        more = {"content-type": EVENTS, "cache-control": "no-store, no-transform"}
        head = http_response(request, 200, None, origins, more)
        return Streamed(self, invocation, head, wants_events(request.headers.get("accept", "")))


class Streamed:
    """The answer to one event; nothing is sent before its turn starts, or the answer is there.

    `head` is the HTTP response of an event stream, None where nothing is told of HTTP. `listener` hears the turn, where
    events were asked for.
    """

    def __init__(self, streams: Streams, invocation: str, head: Mapping[str, Any] | None, listens: bool) -> None:
        self.listener = Telling(self._send) if listens else None
        self._streams, self._invocation, self._head = streams, invocation, head
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._size = 0  # bytes that wait, or are being written
        self._is_full = self._is_started = self._is_over = False
        self._outlet: Outlet | None = None
        self._writer: Future[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether something was sent."""
        return self._writer is not None

    def end(self, answer: Mapping[str, Any], is_error: bool, seconds: float) -> bool:
        """Sends the answer, waiting so long at most for its reader; False where it must be returned, since nothing was sent.

        Of an HTTP event it is the response. Afterwards nothing is written any more.
        """
        if self._is_started:
            body = answer["body"] if self._head else _json(answer)
            self._put(_event("error" if is_error else "answer", body))
        elif self._head:
            self._open(answer)
            self._put(answer["body"].encode())
        if self._writer is None:
            return False
        with self._changed:
            self._is_over = True
            self._changed.notify()
        if not wait([self._writer], max(seconds - _LAST, _GOING)).done and self._outlet:
            self._outlet.cut()
            wait([self._writer], _GOING)
        error = self._writer.exception() if self._writer.done() else TimeoutError("nobody reads")
        if error:
            self._streams.warn("a streamed answer did not arrive whole", detail=f"{type(error).__name__}: {error}")
        return True

    def _send(self, name: str, data: Mapping[str, Any]) -> None:
        if name == "start":
            self._is_started = True
            self._open(self._head)
        self._put(_event(name, _json(data)), may_be_left_out=name == "text")

    def _open(self, response: Mapping[str, Any] | None) -> None:
        self._outlet = self._streams.open(self._invocation, _WITH_PRELUDE if response else EVENTS)
        if self._outlet:
            self._put(_prelude(response) if response else b"")
            self._writer = start(partial(self._write, self._outlet))

    def _put(self, data: bytes, *, may_be_left_out: bool = False) -> None:
        with self._changed:
            self._is_full = self._is_full or (may_be_left_out and self._size + len(data) > _MOST_WAITING)
            if not (self._is_over or (may_be_left_out and self._is_full)):
                self._waiting.append(data)
                self._size += len(data)
                self._changed.notify()

    def _write(self, outlet: Outlet) -> None:
        """Runs in the writer's thread until all is written, or the way breaks; the turn goes on in either case."""
        try:
            while True:
                with self._changed:
                    spoke = self._changed.wait_for(lambda: bool(self._waiting) or self._is_over, self._streams.quiet)
                    data, is_over = b"".join(self._waiting), self._is_over
                    self._waiting.clear()
                if data or not spoke:
                    outlet.write(data or _COMMENT)
                if is_over:
                    outlet.close()
                    return
                with self._changed:
                    self._size -= len(data)
        finally:
            outlet.cut()  # no socket lives longer than its invocation
            with self._changed:
                self._is_over = True
                self._waiting.clear()


def wants_events(accept: str) -> bool:
    """Whether an Accept header names event streams themselves, with a quality above 0."""
    for part in accept.lower().split(","):
        kind, *parameters = (each.strip() for each in part.split(";"))
        if kind == EVENTS:
            pairs = (each.partition("=") for each in parameters)
            quality = next((value.strip() for name, _, value in pairs if name.strip() == "q"), "1")
            if quality.strip("0.") and quality.replace(".", "", 1).isdigit():
                return True
    return False


def _event(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _prelude(response: Mapping[str, Any]) -> bytes:
    """Status and headers, and the eight zero bytes that end them (Lambda's HTTP integration of streamed responses)."""
    return json.dumps({"statusCode": response["statusCode"], "headers": response["headers"]}).encode() + b"\0" * 8
