"""Lambda's own runtime client, and a streamed response beside it: the client (awslambdaric 4.2) has no streaming of its own.

The response is posted to the Runtime API in chunks while the handler runs, and the client leaves out its own post for that one
invocation. The protocol is that of "Using the Lambda runtime API for custom runtimes" in the Lambda Developer Guide.
"""

import importlib
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

_CLIENT = "awslambdaric.lambda_runtime_client"
_NEXT, _POSTS = "wait_next_invocation", ("post_invocation_result", "post_invocation_error")
_SECONDS = 5.0  # for a server in the same machine to take a connection, and to confirm what it was sent
_HELD = 65_536  # bytes
_MOST_HEAD = 65_536  # bytes of that confirmation
_CHANGED = "Lambda's runtime client has changed: answers stream, but each of them ends its environment"


class LambdaRuntime:
    """The runtime that this process runs in; where its client can't be told to leave out a post, `warn` is told so once.

    The client's second post is refused then, and Lambda starts another environment: slower, never wrong.
    """

    def __init__(self, environment: Mapping[str, str], warn: Callable[..., None]) -> None:
        self._environment = environment
        self._answered = ""  # the invocation in hand, once a byte of its response was sent
        self._invocation_id = ""  # another name of it, which newer runtimes want to be told
        client = _client()
        if client is None:
            if "AWS_LAMBDA_FUNCTION_NAME" in environment:  # elsewhere there is none to be told
                warn(_CHANGED)
            return
        wait = getattr(client, _NEXT)

        def wait_next(*arguments: Any, **named: Any) -> Any:
            self._answered = ""  # Lambda's own retry of an invocation has the same id
            found = wait(*arguments, **named)
            self._invocation_id = getattr(found, "invocation_id", "") or ""
            return found

        setattr(client, _NEXT, wait_next)
        for name in _POSTS:
            setattr(client, name, self._left_out(getattr(client, name)))

    def open(self, invocation: str, content_type: str) -> "_Post | None":
        """Begins the streamed response of the invocation in hand; None outside Lambda, or where nobody answers."""
        # read each time: with SnapStart the process was begun elsewhere
        host, _, port = self._environment.get("AWS_LAMBDA_RUNTIME_API", "").rpartition(":")
        try:
            connection = socket.create_connection((host, int(port)), _SECONDS)
        except (OSError, ValueError):
            return None
        self._answered = invocation
        head = {
            "Host": f"{host}:{port}",
            "Content-Type": content_type,
            "Lambda-Runtime-Function-Response-Mode": "streaming",
            "Transfer-Encoding": "chunked",
            **({"Lambda-Runtime-Invocation-Id": self._invocation_id} if self._invocation_id else {}),
        }
        lines = [f"POST /2018-06-01/runtime/invocation/{invocation}/response HTTP/1.1", *map(": ".join, head.items())]
        return _Post(connection, "\r\n".join([*lines, "", ""]).encode())

    def _left_out(self, post: Callable[..., Any]) -> Callable[..., Any]:
        def unless_answered(client: Any, invoke_id: str, *arguments: Any, **named: Any) -> Any:
            return None if invoke_id == self._answered else post(client, invoke_id, *arguments, **named)

        return unless_answered


class _Post:
    """The Outlet of one invocation, on a connection of its own that ends with it."""

    def __init__(self, connection: socket.socket, head: bytes) -> None:
        self._connection = connection
        self._unsent = head
        connection.settimeout(None)  # a reader may take its time
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # what the system holds for a reader who doesn't read would come on top of our own queue: megabytes of it
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _HELD)

    def write(self, data: bytes) -> None:
        """Sends a chunk. Raises OSError."""
        self._send(b"%x\r\n%b\r\n" % (len(data), data))

    def close(self) -> None:
        """Sends the last chunk, and waits until it is confirmed. Raises OSError where the response was refused."""
        with self._connection:
            self._send(b"0\r\n\r\n")
            self._connection.settimeout(_SECONDS)
            said = self._connection.recv(_MOST_HEAD)
            if said.split(b" ")[1:2] != [b"202"]:
                raise ConnectionError(f"the Runtime API said {said[:100]!r}")

    def cut(self) -> None:
        """Closes the connection without a last chunk, which Lambda counts as an error."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _send(self, data: bytes) -> None:
        head, self._unsent = self._unsent, b""
        self._connection.sendall(head + data)


def _client() -> Any:
    """The class that asks for invocations and posts their results; None where it is not as it was in awslambdaric 4.2."""
    try:
        module = importlib.import_module(_CLIENT)
    except ImportError:
        return None
    for each in vars(module).values():
        own = vars(each) if isinstance(each, type) else {}
        codes = [getattr(own.get(name), "__code__", None) for name in _POSTS]
        if _NEXT in own and all(code and code.co_varnames[1:2] == ("invoke_id",) for code in codes):
            return each
    return None
