"""HTTP/1.1 for the stand-in: routes, JSON and chunked answers, and the mischief that a network does."""

from __future__ import annotations

import json
import re
import socket
import socketserver
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from local.bedrock.event_stream import frames
from local.bedrock.reply import ErrorReply, Reply, usage_of

Answer = Callable[[str, bytes, bool], tuple[dict[str, Any], Reply]]
"""Model id, raw body and whether it is converse-stream's in; the decoded body and the reply to send out."""

_ROUTE = re.compile(r"/model/(?P<model_id>.+)/(?P<operation>converse|converse-stream)")
_GARBAGE = b"<html><body>this is no answer of Bedrock</body></html>"
_HEADERS = 120  # bytes of an event's start, in which its headers stand
_POLL_SECONDS = 0.05  # how long closing may take at most
_JOIN_SECONDS = 1.0  # a model that doesn't return is left to its daemon thread


class HttpServer(ThreadingHTTPServer):
    """A server on loopback that can end its connections."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, answer: Any, handler: type[Handler] | None = None) -> None:
        self.answer = answer  # what the handler asks: an Answer, for its own one
        self.closing = threading.Event()
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), handler or _Handler)

    def server_bind(self) -> None:
        """Bind without looking up the host's name, which takes seconds on some machines."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def serve(self) -> None:
        """Serve until `stop`."""
        self.serve_forever(_POLL_SECONDS)

    def stop(self) -> None:
        """End serving and every connection, those that wait for an answer included."""
        self.shutdown()
        with self._lock:
            connections = dict(self._connections)
        self.closing.set()  # only now: who waits for it leaves, and is joined below
        for connection in connections:
            with suppress(OSError):  # its client may be faster
                connection.shutdown(socket.SHUT_RDWR)
        for thread in connections.values():
            thread.join(_JOIN_SECONDS)

    def enter(self, connection: socket.socket) -> None:
        """Note a connection that the current thread serves."""
        with self._lock:
            self._connections[connection] = threading.current_thread()

    def leave(self, connection: socket.socket) -> None:
        """Forget a connection that has ended."""
        with self._lock:
            self._connections.pop(connection, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; all else is told."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """A connection that its server can end."""

    server: HttpServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024

    def setup(self) -> None:
        super().setup()
        self.server.enter(self.connection)

    def finish(self) -> None:
        self.server.leave(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: whoever looks, looks at what was asked."""


class _Handler(Handler):
    server_version = "bedrock-stand-in"

    def do_POST(self) -> None:
        started = time.monotonic()
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        route = _ROUTE.fullmatch(urlsplit(self.path).path)
        if route is None:
            unknown = "only /model/{modelId}/converse and /model/{modelId}/converse-stream are served"
            self._send_error(ErrorReply("UnknownOperationException", 404, unknown))
            return
        stream = route["operation"] == "converse-stream"
        request, reply = self.server.answer(unquote(route["model_id"]), raw, stream)
        if self.server.closing.wait(reply.latency_seconds) or reply.mischief in ("silent", "drop_before"):
            if reply.mischief == "silent":
                self.server.closing.wait()
            self.close_connection = True
            return
        if reply.mischief == "garbage":
            self._send(200, "application/json", _GARBAGE)
        elif reply.error is not None and not (stream and reply.error.in_stream):
            self._send_error(reply.error)
        elif stream:
            self._send_stream(reply, usage_of(request, reply), _milliseconds_since(started))
        else:
            self._send_answer(reply, usage_of(request, reply), _milliseconds_since(started))

    def do_GET(self) -> None:
        self._send_error(ErrorReply("UnknownOperationException", 404, "only POST is served"))

    def _send_answer(self, reply: Reply, usage: dict[str, int], latency_milliseconds: int) -> None:
        response = {
            "output": {"message": {"role": "assistant", "content": reply.content}},
            "stopReason": reply.stop_reason,
            "usage": usage,
            "metrics": {"latencyMs": latency_milliseconds},
        }
        cut = reply.mischief == "drop_middle"
        self._send(200, "application/json", json.dumps(response).encode(), cut=cut)

    def _send_error(self, error: ErrorReply) -> None:
        body = json.dumps({"message": error.message}).encode()
        self._send(error.status, "application/json", body, {"x-amzn-ErrorType": error.error_type})

    def _send(
        self, status: int, content_type: str, body: bytes, headers: dict[str, str] | None = None, *, cut: bool = False
    ) -> None:
        self._send_head(status, {"Content-Type": content_type, "Content-Length": str(len(body)), **(headers or {})})
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut
        self.wfile.flush()

    def _send_stream(self, reply: Reply, usage: dict[str, int], latency_milliseconds: int) -> None:
        self._send_head(200, {"Content-Type": "application/vnd.amazon.eventstream", "Transfer-Encoding": "chunked"})
        events: Iterable[bytes] = frames(reply, usage, latency_milliseconds)
        cut = reply.mischief == "drop_middle"
        if cut:
            all_events = list(events)
            events = all_events[: len(all_events) // 2]
        pieces = 0
        for event in events:
            pieces += b"contentBlockDelta" in event[:_HEADERS]
            if pieces > 1 and self.server.closing.wait(reply.pause_seconds):
                break
            self.wfile.write(b"%X\r\n%b\r\n" % (len(event), event))
            self.wfile.flush()
        if cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()

    def _send_head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "x-amzn-RequestId": str(uuid.uuid4())}.items():
            self.send_header(name, value)
        self.end_headers()


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
