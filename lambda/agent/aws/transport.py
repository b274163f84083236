"""Requests over connections that are kept, each ending at its deadline: only name resolution can take longer.

Nothing is sent again here: whether a call may be repeated is for the adapter to judge.
"""

import socket
import ssl
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain

from agent.aws.connection import Connection, within
from agent.aws.endpoints import Endpoint
from agent.aws.errors import CallError, ConnectionFailedError, UnreadableError
from agent.aws.signing import Headers
from agent.aws.trust import Trust, proxy_for
from agent.deadline import Deadline
from agent.errors import MisconfiguredError

_LARGEST_BODY = 32 * 1024 * 1024  # bytes


class Response:
    """An answer whose head was read. The body is read once, by `pieces` or `body`; then its connection is free again."""

    def __init__(
        self, status: int, headers: dict[str, str], connection: Connection, home: list[Connection], deadline: Deadline
    ) -> None:
        self.status, self.headers = status, headers
        self._connection, self._home, self._deadline = connection, home, deadline

    def body(self) -> bytes:
        """All of it. Raises UnreadableError beyond 32 MB, and like `pieces`."""
        whole = bytearray()
        for piece in self.pieces():
            whole += piece
            if len(whole) > _LARGEST_BODY:
                raise UnreadableError("the answer is larger than 32 MB")
        return bytes(whole)

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes, until its end; whoever stops before that closes the connection.

        Raises TimedOutError at the deadline, ConnectionFailedError where it is cut off, UnreadableError for what is no HTTP.
        """
        is_whole = False
        try:
            if self.status not in (204, 304):
                yield from self._connection.body(self.headers, self._deadline)
            is_whole = self._connection.is_free()
        finally:
            if is_whole:
                self._home.append(self._connection)
            else:
                self._connection.close()


class Transport:
    """The connections of a process, by endpoint. `environment` names a proxy and a company's own certificates."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment, self._trust = environment, Trust(environment)
        self._idle: defaultdict[Endpoint, list[Connection]] = defaultdict(list)
        self._believed: dict[Endpoint, list[ssl.SSLContext]] = {}  # the one by which an endpoint was believed before

    def send(
        self, endpoint: Endpoint, method: str, target: str, headers: Headers, body: bytes, deadline: Deadline
    ) -> Response:
        """Sends a request for `target` (path and query), and reads its answer's head.

        Raises a CallError, or MisconfiguredError for a certificate that is not to be trusted.
        """
        home = self._idle[endpoint]
        connection = _kept(home) or self._connected(endpoint, deadline.within(endpoint.connect))
        try:
            always = (("Host", endpoint.authority), ("User-Agent", "agent"), ("Content-Length", str(len(body))))
            lines = "".join(f"{name}: {value}\r\n" for name, value in (*always, *headers))
            connection.write(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + body, deadline)
            status, answered = connection.head(deadline)
        except BaseException:
            connection.close()
            raise
        return Response(status, answered, connection, home, deadline)

    def _connected(self, endpoint: Endpoint, deadline: Deadline) -> Connection:
        proxy, refused = proxy_for(endpoint, self._environment), ""
        tried = chain(self._believed.get(endpoint, ()), self._trust.contexts(endpoint))
        for context in tried if endpoint.scheme == "https" else (None,):
            connection = Connection(_opened(proxy or endpoint, deadline))
            try:
                if proxy:
                    _tunnel(connection, endpoint, proxy.login, deadline)
                if context:
                    connection.secure(context, endpoint.host, deadline)
                    self._believed[endpoint] = [context]
                return connection
            except ssl.SSLCertVerificationError as error:
                refused = str(error)
                connection.close()
            except BaseException:
                connection.close()
                raise
        hint = "a company's own authority is named by AWS_CA_BUNDLE"
        raise MisconfiguredError(detail=f"the certificate of {endpoint.host} is not to be trusted: {refused} ({hint})")


def _kept(home: list[Connection]) -> Connection | None:
    with suppress(IndexError):  # another thread may take the last
        while True:
            connection = home.pop()
            if connection.is_alive():
                return connection
            connection.close()
    return None


def _tunnel(connection: Connection, endpoint: Endpoint, login: str, deadline: Deadline) -> None:
    where = f"{endpoint.host}:{endpoint.port}"
    known = f"Proxy-Authorization: Basic {b64encode(login.encode()).decode()}\r\n" if login else ""
    connection.write(f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n{known}\r\n".encode(), deadline)
    status, _ = connection.head(deadline)
    if status != 200:
        raise ConnectionFailedError(f"the proxy answers {status}")


def _opened(endpoint: Endpoint, deadline: Deadline) -> socket.socket:
    """A TCP connection to the first address that takes one; all have the time together. Raises ConnectionFailedError."""
    failure: Exception | None = None
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        found, failure = [], error
    for family, kind, protocol, _, address in found:
        opened = socket.socket(family, kind, protocol)
        try:
            with within(deadline, opened):
                opened.connect(address)
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                # a load balancer forgets what is silent for 350 s, and a model may think for longer
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                if hasattr(socket, "TCP_KEEPIDLE"):
                    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
            return opened
        except CallError as error:
            failure = error
            opened.close()
    raise ConnectionFailedError(f"no connection to {endpoint.host}: {failure}") from failure
