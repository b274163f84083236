"""The services that moto has in this process, over HTTP on loopback: what the function's own client talks to.

moto reads and writes in separate steps, so that calls are made one at a time: only so are conditional writes atomic.
"""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from moto.core.models import botocore_stubber

# region and service, of a signature
_SCOPE = re.compile(r"Credential=[^/]+/\d+/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request")


class AWSServer:
    """Serves within its context, at `url`, what moto mocks there."""

    def __init__(self) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The endpoint for `AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_<SERVICE>`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.one_at_a_time = threading.Lock()
        super().__init__(address, handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that has left is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = _SCOPE.search(self.headers.get("Authorization", ""))
        region, service = found.groups() if found else ("us-east-1", "nothing")
        host = f"{service}.{region}.amazonaws.com"
        headers = HTTPHeaders()
        for name, value in self.headers.items():
            headers[name] = host if name.lower() == "host" else value
        request = AWSPreparedRequest("POST", f"https://{host}{self.path}", headers, body, False)
        with self.server.one_at_a_time:
            status, answered, answer = botocore_stubber.process_request(request) or (
                404,
                {},
                b"moto does not mock this",
            )
        content = answer.encode() if isinstance(answer, str) else answer
        self.send_response(status)
        for name, value in answered.items():
            if name.lower() not in ("content-length", "server", "date", "connection"):
                self.send_header(name, str(value))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what the function logs is enough."""
