"""The services that moto has in this process, over HTTP on loopback: what the function's own client talks to.

moto reads and writes in separate steps, so that calls are made one at a time: only so are conditional writes atomic.
"""

import re
import threading
from typing import Self

from botocore.awsrequest import AWSPreparedRequest
from botocore.compat import HTTPHeaders
from moto.core.models import botocore_stubber

from local.bedrock.http_server import Handler, HttpServer

# region and service, of a signature
_SCOPE = re.compile(r"Credential=[^/]+/\d+/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request")


class AWSServer:
    """Serves within its context, at `url`, what moto mocks there."""

    def __init__(self) -> None:
        self.one_at_a_time = threading.Lock()
        """Who holds it has the tables to itself."""
        self._server = HttpServer(0, self.one_at_a_time, _Handler)
        self._thread = threading.Thread(target=self._server.serve, name="moto-server", daemon=True)

    @property
    def url(self) -> str:
        """The endpoint for `AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_<SERVICE>`."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._thread.join()
        self._server.server_close()


class _Handler(Handler):
    server_version = "moto"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = _SCOPE.search(self.headers.get("Authorization", ""))
        region, service = found.groups() if found else ("us-east-1", "nothing")
        host = f"{service}.{region}.amazonaws.com"
        headers = HTTPHeaders()
        for name, value in self.headers.items():
            headers[name] = host if name.lower() == "host" else value
        request = AWSPreparedRequest("POST", f"https://{host}{self.path}", headers, body, False)
        with self.server.answer:
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
