"""A server on loopback that answers bytes as they stand: what no JSON library would write, and no model would say."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_ANSWER = (
    b'{"output":{"message":{"role":"assistant","content":%s}},"stopReason":"%s",'
    b'"usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2},"metrics":{"latencyMs":1}}'
)


def answer(content: bytes, stop_reason: bytes = b"tool_use") -> bytes:
    """The body of a Converse answer whose content blocks are these bytes."""
    return _ANSWER % (content, stop_reason)


class RawServer(ThreadingHTTPServer):
    """Answers its bodies in order, the last of them for ever. `received` holds the bodies that came."""

    daemon_threads = True

    def __init__(self, status: int, bodies: list[bytes], headers: Mapping[str, str]) -> None:
        self.status, self.bodies, self.headers = status, bodies, headers
        self.received: list[bytes] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: RawServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.server.received.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        body = self.server.bodies.pop(0) if len(self.server.bodies) > 1 else self.server.bodies[0]
        self.send_response(self.server.status)
        for name, value in {"Content-Length": str(len(body)), **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def answering(*bodies: bytes, status: int = 200, **headers: str) -> Iterator[RawServer]:
    """A server with these answers, until the block ends; a header's underscores stand for hyphens."""
    told = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    with RawServer(status, list(bodies), told) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
