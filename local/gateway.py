"""An API Gateway HTTP API on 127.0.0.1: HTTP in, payload-2.0 events to a function, its answers out."""

import itertools
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from local.payload import HttpRequest, HttpResponse, build_event, build_response, message
from local.routes import Route, compile_routes, find_route
from local.streamed import Invoke as StreamedInvoke
from local.streamed import StreamedAnswer

# What a payload-2.0 event goes to: the function's result and whether it succeeded (False: it raised).
Invoke = Callable[[dict[str, Any]], tuple[Any, bool]]
# Told of each answered request: method, path, status, seconds.
Listener = Callable[[str, str, int, float], None]

# API Gateway's quota for a payload.
_MAX_BODY_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True)
class Streaming:
    """How requests are answered that want a stream: `wants` gives the event that asks for it, or None.

    `invoke` gets that and who is told of chunks; `seconds` is how long the first may take.
    """

    wants: Callable[[dict[str, Any]], dict[str, Any] | None]
    invoke: StreamedInvoke
    seconds: float


class Gateway:
    """Serves from its making until `close` (or as a context manager); `url` is where.

    `routes` are those of the function where none are given, `cors` is the CorsConfiguration of an AWS::ApiGatewayV2::Api.
    `authorizer` gets the event and returns what belongs under requestContext.authorizer, or None for a 401. `before` may answer
    a request in the function's place. `port` 0 takes a free one. Raises OSError if the port is taken.
    """

    def __init__(
        self,
        invoke: Invoke,
        *,
        routes: Iterable[str] | None = None,
        port: int = 0,
        timeout_seconds: float = 30.0,
        cors: Mapping[str, Any] | None = None,
        authorizer: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
        listener: Listener | None = None,
        streaming: Streaming | None = None,
        before: Callable[[HttpRequest], HttpResponse | None] = lambda request: None,
    ) -> None:
        self._invoke = invoke
        self._routes = compile_routes(_routes_of_the_function() if routes is None else routes)
        self._timeout_seconds = timeout_seconds
        self._cors = cors
        self._authorizer = authorizer
        self._listener = listener
        self._streaming = streaming
        self._before = before
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.gateway = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening; requests that are being answered end with the process."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: HttpRequest) -> HttpResponse:
        """The whole way of one request: CORS preflight, route, authorizer, function, CORS headers."""
        started = time.monotonic()
        path = urlsplit(request.target).path
        origin = _header(request, "origin")
        first = self._before(request)
        if first is not None:
            return first
        if self._cors is not None and request.method == "OPTIONS" and _header(request, "access-control-request-method"):
            response = HttpResponse(204, (*_origin_headers(self._cors, origin), *_preflight_headers(self._cors)), b"")
        else:
            found = find_route(self._routes, request.method, path)
            response = self._call(request, *found) if found else message(404, "Not Found")
            if self._cors is not None:
                response = _with_cors(response, self._cors, origin)
        if self._listener:
            self._listener(request.method, path, response.status, time.monotonic() - started)
        return response

    def _call(self, request: HttpRequest, route: Route, parameters: Mapping[str, str]) -> HttpResponse:
        event = build_event(request, route, parameters, request_id=uuid.uuid4().hex[:15] + "=")
        if self._authorizer:
            authorized = self._authorizer(event)
            if authorized is None:
                return message(401, "Unauthorized")
            event["requestContext"]["authorizer"] = authorized
        try:
            if self._streaming and (wanted := self._streaming.wants(event)):
                return StreamedAnswer(self._streaming.invoke, wanted).response(self._streaming.seconds)
            result, succeeded = _within(self._timeout_seconds, lambda: self._invoke(event))
        except TimeoutError:
            return message(503, "Service Unavailable")
        return build_response(result) if succeeded else message(500, "Internal Server Error")


def _routes_of_the_function() -> Iterable[str]:
    from agent.edge.routes import ROUTES  # importable once the function was loaded, or in tests

    return ROUTES


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    gateway: Gateway

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # the client left: its own affair
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the gateway's listener is told instead."""

    def _handle(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal():
            self._refuse(411, "Length Required")
        elif int(length) > _MAX_BODY_BYTES:
            self._refuse(413, "Request Entity Too Large")
        else:
            body = self.rfile.read(int(length))
            headers = tuple(self.headers.items())
            request = HttpRequest(self.command, self.path, headers, body, self.client_address[0])
            self._send(self.server.gateway.answer(request))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # whatever the method: which of them are taken is for the routes to say
            return self._handle
        raise AttributeError(name)

    def _refuse(self, status: int, text: str) -> None:
        """Answer without reading the body, so that the connection can't go on."""
        self.close_connection = True
        self._send(message(status, text))

    def _send(self, response: HttpResponse) -> None:
        self.send_response(response.status)
        for name, value in response.headers:
            if name.lower() not in ("content-length", "connection"):
                self.send_header(name, value)
        if response.more is not None:
            self.send_header("Transfer-Encoding", "chunked")
        elif response.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            self.send_header("Content-Length", str(len(response.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if response.more is not None:
            self._send_chunks(itertools.chain((response.body,), response.more))
        elif self.command != "HEAD" and response.status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
            self.wfile.write(response.body)

    def _send_chunks(self, chunks: Iterable[bytes]) -> None:
        """Each as it comes; a stream that was cut off ends without its last chunk."""
        try:
            for chunk in filter(None, chunks):
                self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                self.wfile.flush()
        except ConnectionError:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")


def _within(seconds: float, call: Callable[[], tuple[Any, bool]]) -> tuple[Any, bool]:
    """The call's result, or TimeoutError; a call that takes longer is left to itself, as API Gateway leaves it."""
    outcome: Future[tuple[Any, bool]] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001 - handed to the waiting thread, whatever it is
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome.result(timeout=seconds)


def _header(request: HttpRequest, wanted: str) -> str:
    return next((value for name, value in request.headers if name.lower() == wanted), "")


def _origin_headers(cors: Mapping[str, Any], origin: str) -> tuple[tuple[str, str], ...]:
    allowed = cors.get("AllowOrigins", ())
    if not origin or not ("*" in allowed or origin in allowed):
        return ()
    return (("access-control-allow-origin", "*" if "*" in allowed else origin),)


def _preflight_headers(cors: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    lists = (("methods", cors.get("AllowMethods", ())), ("headers", cors.get("AllowHeaders", ())))
    age = (("access-control-max-age", str(cors["MaxAge"])),) if "MaxAge" in cors else ()
    return (*((f"access-control-allow-{name}", ",".join(values)) for name, values in lists if values), *age)


def _with_cors(response: HttpResponse, cors: Mapping[str, Any], origin: str) -> HttpResponse:
    """An API with CORS of its own ignores what the function says of it."""
    kept = tuple((name, value) for name, value in response.headers if not name.lower().startswith("access-control-"))
    return replace(response, headers=(*kept, *_origin_headers(cors, origin)))
