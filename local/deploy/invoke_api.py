"""Lambda's Invoke on a port of this machine, for SDKs and the AWS CLI: AWS_ENDPOINT_URL_LAMBDA leads them here.

Protocol: "Invoke" in the AWS Lambda API Reference. Signatures aren't looked at.
"""

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote, urlsplit

Invoke = Callable[[Any], tuple[Any, bool]]
_PATH = re.compile(r"/2015-03-31/functions/([^/]+)/invocations")


class InvokeApi:
    """Serves the function of that name from its making until `close` (or as a context manager), at `url`."""

    def __init__(self, invoke: Invoke, name: str) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.invoke, self._server.name = invoke, name
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    invoke: Invoke
    name: str


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Invoke the function, and wait for it unless it is to run as an event."""
        payload = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = _PATH.fullmatch(urlsplit(self.path).path)
        # By its name, or by an ARN that ends with it.
        if not found or unquote(found[1]).rpartition(":")[2] != self.server.name:
            self._answer(
                404,
                {"Type": "User", "Message": "Function not found"},
                {"x-amzn-ErrorType": "ResourceNotFoundException"},
            )
            return
        try:
            event = json.loads(payload or b"null")
        except ValueError:
            self._refuse(400, "InvalidRequestContentException", "Could not parse request body into json")
            return
        if self.headers.get("X-Amz-Invocation-Type") == "Event":
            threading.Thread(target=self.server.invoke, args=(event,), daemon=True).start()
            self._answer(202, None, {})
            return
        result, succeeded = self.server.invoke(event)
        headers = {"X-Amz-Executed-Version": "$LATEST"}
        self._answer(200, result, headers if succeeded else headers | {"X-Amz-Function-Error": "Unhandled"})

    def _refuse(self, status: int, exception: str, text: str) -> None:
        self._answer(status, {"Type": "User", "message": text}, {"x-amzn-ErrorType": exception})

    def _answer(self, status: int, value: Any, headers: dict[str, str]) -> None:
        body = b"" if status == 202 else json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
