"""HTTP/1.1 over one socket, by its deadline. What is read is bounded, and what breaks the protocol is refused.

http.client takes a body that was cut off for a whole one, waits anew with each byte, and costs four times as much.
"""

import socket
import ssl
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from agent.aws.errors import ConnectionFailedError, TimedOutError, UnreadableError
from agent.deadline import Deadline

_LONGEST_HEAD = 65_536  # bytes
_PIECE = 16_384  # bytes that are sent at once: a TLS record, so that each has the time that is left
_IDLE_SECONDS = 50.0  # by wall clock, since a frozen environment's monotonic one may stand; DynamoDB hangs up after 60


class Connection:
    """A socket and what was read beyond what was asked for. Everything raises TimedOutError and ConnectionFailedError."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket, self._buffer, self._freed = opened, bytearray(), 0.0
        self.is_last = False  # whether it can't be used after this answer
        weakref.finalize(self, opened.close)  # one that nobody holds any more is closed, too

    def close(self) -> None:
        """Closes it."""
        self._socket.close()

    def is_alive(self) -> bool:
        """Whether an idle connection may be used: not for long idle, not closed, nothing there that nobody asked for.

        A poll won't do: under TLS 1.3 a live connection is readable, since the server sends tickets.
        """
        if not 0 <= time.time() - self._freed < _IDLE_SECONDS:
            return False
        try:
            self._socket.setblocking(False)
            self._socket.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def is_free(self) -> bool:
        """Whether it may be kept for another call, now that an answer was read to its end."""
        self._freed = time.time()
        return not (self.is_last or self._buffer)

    def secure(self, context: ssl.SSLContext, host: str, deadline: Deadline) -> None:
        """TLS from here on. Raises ssl.SSLCertVerificationError."""
        with within(deadline, self._socket):
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
            weakref.finalize(self, self._socket.close)

    def write(self, data: bytes, deadline: Deadline) -> None:
        """Sends it. A failure is left for `head` to find: what is too large may be refused before it was read."""
        try:
            for at in range(0, len(data), _PIECE):
                with within(deadline, self._socket):
                    self._socket.sendall(data[at : at + _PIECE])
        except ConnectionFailedError:
            self.is_last = True

    def head(self, deadline: Deadline) -> tuple[int, dict[str, str]]:
        """Status, and headers by their names in lower case; interim answers are passed over."""
        while True:
            first, *lines = self._until(b"\r\n\r\n", deadline).decode("latin-1").split("\r\n")
            version, _, status = first.partition(" ")
            if not version.startswith("HTTP/1.") or not status[:3].isdecimal():
                raise UnreadableError("the answer is not HTTP")
            headers: dict[str, str] = {}
            for line in lines:
                name, colon, value = line.partition(":")
                if (
                    not colon
                    or name != name.strip()
                    or (name.lower() == "content-length" and "content-length" in headers)
                ):
                    raise UnreadableError("the answer's headers can't be read")
                headers[name.lower()] = value.strip(" \t")
            if int(status[:3]) >= 200:
                self.is_last |= version == "HTTP/1.0" or headers.get("connection", "").lower() == "close"
                return int(status[:3]), headers

    def body(self, headers: dict[str, str], deadline: Deadline) -> Iterator[bytes]:
        """The pieces of the body as they come."""
        if "transfer-encoding" in headers:
            while size := self._number(self._until(b"\r\n", deadline).partition(b";")[0].strip(), 16):
                yield from self._take(size, deadline)
                if self._until(b"\r\n", deadline):
                    raise UnreadableError("the answer's chunks can't be read")
            while self._until(b"\r\n", deadline):
                pass  # headers at its end
        elif "content-length" in headers:
            yield from self._take(self._number(headers["content-length"].encode(), 10), deadline)
        else:
            self.is_last = True
            while True:
                yield bytes(self._buffer)
                self._buffer.clear()
                if not self._received(deadline):
                    return

    def _number(self, text: bytes, base: int) -> int:
        if not text.isalnum() or len(text) > 16:
            raise UnreadableError("the answer's length can't be read")
        try:
            return int(text, base)
        except ValueError as error:
            raise UnreadableError("the answer's length can't be read") from error

    def _take(self, size: int, deadline: Deadline) -> Iterator[bytes]:
        while size:
            if not self._buffer:
                self._fill(deadline)
            piece = bytes(self._buffer[:size])
            del self._buffer[:size]
            size -= len(piece)
            yield piece

    def _until(self, mark: bytes, deadline: Deadline) -> bytes:
        while (end := self._buffer.find(mark, 0, _LONGEST_HEAD)) < 0:
            if len(self._buffer) >= _LONGEST_HEAD:
                raise UnreadableError("the answer's headers are too long")
            self._fill(deadline)
        found = bytes(self._buffer[:end])
        del self._buffer[: end + len(mark)]
        return found

    def _fill(self, deadline: Deadline) -> None:
        if not self._received(deadline):
            raise ConnectionFailedError("the connection was closed before the answer was whole")

    def _received(self, deadline: Deadline) -> bool:
        with within(deadline, self._socket):
            data = self._socket.recv(_LONGEST_HEAD)
        self._buffer += data
        return bool(data)


@contextmanager
def within(deadline: Deadline, opened: socket.socket) -> Iterator[None]:
    """Gives a socket the time that is left, and has its failures told in our words; a certificate's are left as they are."""
    left = deadline.left()
    if left <= 0:
        raise TimedOutError("the time ended before the answer came")
    opened.settimeout(left)
    try:
        yield
    except ssl.SSLCertVerificationError:
        raise
    except TimeoutError as error:
        raise TimedOutError("the time ended before the answer came") from error
    except OSError as error:
        raise ConnectionFailedError(f"the connection failed: {error}") from error
