"""Lambda's Runtime API on loopback: hands out invocations and takes their responses, whole or streamed.

Protocol: "Using the Lambda runtime API for custom runtimes" in the Lambda Developer Guide. What it refuses, and makes of a
response that was cut off, is as in AWS's own server, github.com/aws/aws-lambda-runtime-interface-emulator.
"""

import base64
import json
import queue
import re
import socket
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

API = "/2018-06-01/runtime/"
MODE = "Lambda-Runtime-Function-Response-Mode"
PRELUDE_END = b"\0" * 8
# A streamed response that begins with status and headers; else it is bytes alone.
WITH_PRELUDE = "application/vnd.awslambda.http-integration-response"
Outcome = tuple[Any, bool]
_ERROR_TYPE = re.compile(r"(Runtime|Function)\.[A-Z][a-zA-Z]+")


@dataclass
class Invocation:
    """One event, and what comes of it: a result and True, or Lambda's error object and False; of a stream its whole text.

    `on_chunk` is told of each chunk of a streamed response when it comes, and holds up the rest until it returns.
    """

    event: bytes
    deadline_ms: int
    on_chunk: Callable[[bytes], object] = lambda chunk: None
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    invocation_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    outcome: Future[Outcome] = field(default_factory=Future)
    content_type: str = ""  # of a streamed response

    def settle(self, result: Any, succeeded: bool) -> None:
        """The first outcome counts: a process may still answer after its time was over."""
        with suppress(InvalidStateError):
            self.outcome.set_result((result, succeeded))

    def whole(self) -> Outcome:
        """The outcome, as a gateway that doesn't stream makes it of a response that began with a prelude."""
        result, succeeded = self.outcome.result()
        if not succeeded or self.content_type != WITH_PRELUDE:
            return result, succeeded
        head, _, body = result.partition(PRELUDE_END.decode())
        return {**json.loads(head), "body": body, "isBase64Encoded": False}, True


class RuntimeApi(ThreadingHTTPServer):
    """Serves from its making until `close`, at `address` (host:port)."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, function_arn: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        # connections inherit it: a reader who doesn't read shows soon
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        self.function_arn = function_arn
        self.address = f"127.0.0.1:{self.server_port}"
        self.waiting: queue.Queue[Invocation | None] = queue.Queue()
        self._open: dict[str, Invocation] = {}
        self.is_asked = threading.Event()  # somebody waits for the next invocation
        self._taken: dict[str, Invocation] = {}
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self.waiting.put(None)
        self.shutdown()
        self.server_close()
        self._thread.join()

    def hand_out(self, invocation: Invocation) -> None:
        """Gives the invocation to whoever asks next."""
        self.expect(invocation)
        self.is_asked.clear()
        self.waiting.put(invocation)

    def expect(self, invocation: Invocation) -> None:
        """Takes the response to an invocation that was handed out in another way."""
        self._open[invocation.request_id] = invocation

    def take(self, request_id: str) -> Invocation | None:
        """The invocation that is being answered, once."""
        invocation = self._open.pop(request_id, None)
        if invocation:
            self._taken = {name: each for name, each in self._taken.items() if not each.outcome.done()}
            self._taken[request_id] = invocation
        return invocation

    def fail(self, error: dict[str, Any]) -> None:
        """Settles all that is still open."""
        for invocation in [*self._open.values(), *self._taken.values()]:
            invocation.settle(error, False)
        self._open.clear()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The process was ended while it asked for work: nothing to tell."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else two delayed acknowledgements of 40 ms lie in each invocation.
    disable_nagle_algorithm = True
    wbufsize = -1
    server: RuntimeApi

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the function's own lines are what counts."""

    def do_GET(self) -> None:
        """The next invocation, when there is one."""
        self.server.is_asked.set()
        invocation = self.server.waiting.get() if self.path == f"{API}invocation/next" else None
        self.server.is_asked.clear()
        if invocation is None:
            self.close_connection = True
            return
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Invocation-Id": invocation.invocation_id,
            "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": self.server.function_arn,
            "Content-Type": "application/json",
        }
        self._reply(200, invocation.event, headers)

    def do_POST(self) -> None:
        """A response, an error, or why the function could not be loaded."""
        path = self.path.removeprefix(API).split("/")
        match path:
            case ["invocation", request_id, "response" | "error"]:
                told = self.headers.get("Lambda-Runtime-Invocation-Id")
                invocation = self.server.take(request_id)
                if invocation is None:
                    self._refuse(400, "InvalidRequestID", "Invalid request ID")
                elif told not in (None, invocation.invocation_id):
                    self.server.expect(invocation)
                    self._refuse(400, "InvalidInvocationID", "Invalid invocation ID")
                elif path[2] == "error":
                    invocation.settle(json.loads(b"".join(self._body())), False)
                    self._confirm()
                else:
                    self._take(invocation)
            case ["init", "error"]:
                self.server.fail(json.loads(b"".join(self._body()) or b"null"))
                self._confirm()
            case _:
                self._refuse(404, "NotFound", "No such path")

    def _take(self, invocation: Invocation) -> None:
        mode = self.headers.get(MODE)
        if mode not in (None, "streaming"):
            self.server.expect(invocation)
            self._refuse(400, "InvalidResponseMode", f"Unknown response mode {mode}")
            return
        whole: list[bytes] = []
        try:
            for chunk in self._body():
                whole.append(chunk)
                if mode:
                    invocation.on_chunk(chunk)
        except (OSError, ValueError):
            text = "The response ended before its last chunk"
            invocation.settle({"errorType": "Runtime.TruncatedResponse", "errorMessage": text}, False)
            self.close_connection = True
            return
        body = b"".join(whole)
        invocation.content_type = self.headers.get("Content-Type", "") if mode else ""
        if error := self._trailers.get("lambda-runtime-function-error-type"):
            kind = error if _ERROR_TYPE.fullmatch(error) else "Runtime.Unknown"
            told = base64.b64decode(self._trailers.get("lambda-runtime-function-error-body", ""))
            invocation.settle({"errorType": kind, "errorMessage": told.decode(errors="replace")}, False)
        else:
            invocation.settle(body.decode() if mode else json.loads(body or b"null"), True)
        self._confirm()

    def _body(self) -> Iterator[bytes]:
        """The body as it comes, by chunks where it is chunked. Raises ValueError where it is cut off."""
        self._trailers: dict[str, str] = {}
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            yield self.rfile.read(int(self.headers.get("Content-Length", 0)))
            return
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunk = self.rfile.read(size)
            if len(chunk) < size or self.rfile.readline() != b"\r\n":
                raise ValueError("cut off")
            yield chunk
        while line := self.rfile.readline().strip():
            name, _, value = line.decode().partition(":")
            self._trailers[name.lower()] = value.strip()

    def _confirm(self) -> None:
        self._reply(202, b'{"status":"OK"}', {})

    def _refuse(self, status: int, kind: str, text: str) -> None:
        """Refuses without reading on, and ends the connection."""
        self.close_connection = True
        self._reply(status, json.dumps({"errorType": kind, "errorMessage": text}).encode(), {"Connection": "close"})

    def _reply(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
