"""HTTP as servers speak it, and as they don't: what is read is whole, and every call ends at its deadline."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

import pytest

from agent.aws.endpoints import Endpoint
from agent.aws.errors import CallError, ConnectionFailedError, TimedOutError, UnreadableError
from agent.aws.transport import Transport
from agent.deadline import Deadline
from tests.agent.aws.servers import Script, answering, ok, serving


def _get(transport: Transport, endpoint: Endpoint, seconds: float = 5, body: bytes = b"") -> bytes:
    return transport.send(endpoint, "POST", "/a?b=c", [], body, Deadline.after(seconds)).body()


def _once(script: Script, seconds: float = 5, body: bytes = b"") -> bytes:
    with serving(script) as server:
        return _get(Transport({}), server.endpoint(), seconds, body)


def test_a_request_goes_out_in_one_piece_and_its_answer_comes_back() -> None:
    with serving(answering(ok(b"yes", X_Id="7"))) as server:
        transport = Transport({})
        response = transport.send(server.endpoint(), "POST", "/a?b=c", [("X-A", "é")], b"body", Deadline.after(5))
        assert (response.status, response.headers["x-id"], response.body()) == (200, "7", b"yes")
    (request,) = server.requests
    assert request.startswith(f"POST /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode())
    assert request.endswith(b"\r\nContent-Length: 4\r\nX-A: \xe9\r\n\r\nbody")


def test_a_connection_is_used_again_once_its_answer_was_read() -> None:
    with serving(answering(ok(b"yes"))) as server:
        transport = Transport({})
        assert [_get(transport, server.endpoint()) for _ in range(3)] == [b"yes"] * 3
    assert server.connections == 1


def test_two_calls_at_once_have_a_connection_each() -> None:
    together = threading.Barrier(2, timeout=5)

    def script(connection: socket.socket, request: bytes) -> None:
        together.wait()
        connection.sendall(ok(b"yes"))

    with serving(script) as server:
        transport, found = Transport({}), []
        threads = [threading.Thread(target=lambda: found.append(_get(transport, server.endpoint()))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert found == [b"yes", b"yes"]
    assert server.connections == 2


@pytest.mark.parametrize(
    "answer",
    [
        ok(b"yes", Connection="close"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nyes",
        ok(b"yes") + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
    ],
    ids=["asked to close", "HTTP/1.0", "an answer nobody asked for"],
)
def test_a_connection_that_must_not_be_used_again_is_not(answer: bytes) -> None:
    with serving(answering(answer)) as server:
        transport = Transport({})
        assert [_get(transport, server.endpoint()) for _ in range(2)] == [b"yes"] * 2
    assert server.connections == 2


def test_a_connection_that_was_closed_while_idle_is_noticed_before_anything_is_sent() -> None:
    closed = threading.Semaphore(0)

    def script(connection: socket.socket, request: bytes) -> None:
        connection.sendall(ok(b"yes"))
        connection.shutdown(socket.SHUT_RDWR)
        closed.release()

    with serving(script) as server:
        transport = Transport({})
        for _ in range(3):
            assert _get(transport, server.endpoint()) == b"yes"
            assert closed.acquire(timeout=5)
    assert len(server.requests) == 3


def test_a_connection_that_was_idle_for_50_seconds_by_the_wall_clock_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ahead = [0.0]
    real = time.time
    monkeypatch.setattr("agent.aws.connection.time.time", lambda: real() + ahead[0])
    with serving(answering(ok(b"yes"))) as server:
        transport = Transport({})
        for seconds in (0.0, 49.0, 100.0, -3_600.0):
            ahead[0] = seconds
            assert _get(transport, server.endpoint()) == b"yes"
    assert server.connections == 3


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n4;x=y\r\nyes!\r\n0\r\n\r\n", b"yesyes!"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n3\r\nyes\r\n0\r\nX: y\r\n\r\n",
            b"yes",
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + ok(b"yes"), b"yes"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"Content-Length: 1\r\n\r\nz", b"z"),
        (ok(b"x" * 10_000_000), b"x" * 10_000_000),
    ],
    ids=["chunks", "chunks beat a length", "interim answers", "no content", "no reason", "200 headers", "10 MB"],
)
def test_what_servers_answer_is_read(answer: bytes, body: bytes) -> None:
    assert _once(answering(answer), seconds=20) == body


def test_a_body_without_a_length_ends_with_its_connection() -> None:
    assert _once(answering(b"HTTP/1.1 200 OK\r\n\r\nyes", close=True)) == b"yes"


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 2\xb2\xb2 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nName : value\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nyes",
        b"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nyes",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3_0\r\n\r\nyes",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nyes\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyesno\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 70_000 + b"\r\n\r\n",
        ok(b"x" * 34_000_000),
    ],
)
def test_what_is_no_http_or_too_much_is_refused(answer: bytes) -> None:
    with pytest.raises(UnreadableError):
        _once(answering(answer), seconds=20)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200", ok(b"yes")[:-1], b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nye"]
)
def test_an_answer_that_is_cut_short_is_told_as_a_failed_connection(answer: bytes) -> None:
    with pytest.raises(ConnectionFailedError):
        _once(answering(answer, close=True))


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"], ids=["the head", "the body"]
)
def test_an_answer_that_drips_ends_at_the_deadline_all_the_same(answer: bytes) -> None:
    enough = threading.Event()

    def script(connection: socket.socket, request: bytes) -> None:
        connection.sendall(answer)
        while not enough.wait(0.02):
            connection.sendall(b"H")

    began = time.monotonic()
    with serving(script) as server:
        with pytest.raises(TimedOutError):
            _get(Transport({}), server.endpoint(), seconds=0.2)
        assert time.monotonic() - began < 1
        enough.set()


def test_a_server_that_does_not_read_is_left_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        endpoint = Endpoint("http", "127.0.0.1", listener.getsockname()[1])
        began = time.monotonic()
        with pytest.raises(TimedOutError):
            _get(Transport({}), endpoint, seconds=0.2, body=b"x" * 30_000_000)
        assert time.monotonic() - began < 2


def test_a_call_whose_time_has_ended_is_not_begun() -> None:
    with serving(answering(ok(b"yes"))) as server:
        with pytest.raises(CallError):
            _get(Transport({}), server.endpoint(), seconds=0)
        assert server.requests == []


def test_pieces_come_as_they_are_sent() -> None:
    go_on = threading.Event()

    def script(connection: socket.socket, request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        assert go_on.wait(5)
        connection.sendall(b"3\r\ntwo\r\n0\r\n\r\n")

    with serving(script) as server:
        transport = Transport({})
        response = transport.send(server.endpoint(), "GET", "/", [], b"", Deadline.after(5))
        pieces = response.pieces()
        assert next(pieces) == b"one"
        go_on.set()
        assert list(pieces) == [b"two"]


def test_an_answer_that_is_not_read_to_its_end_ends_its_connection() -> None:
    with serving(answering(ok(b"x" * 100_000))) as server:
        transport = Transport({})
        pieces = transport.send(server.endpoint(), "GET", "/", [], b"", Deadline.after(5)).pieces()
        next(pieces)
        pieces.close()  # type: ignore[attr-defined]
        assert len(_get(transport, server.endpoint())) == 100_000
    assert server.connections == 2


def test_a_refusal_that_comes_before_the_request_was_read_is_read() -> None:
    """What is too large for a server is refused at its head; the rest of it goes nowhere."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            with suppress(OSError):
                opened, _ = listener.accept()
                with opened:
                    opened.recv(100)
                    opened.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")

        thread = threading.Thread(target=refuse, daemon=True)
        thread.start()
        endpoint = Endpoint("http", "127.0.0.1", listener.getsockname()[1])
        response = Transport({}).send(endpoint, "POST", "/", [], b"x" * 5_000_000, Deadline.after(5))
        assert (response.status, response.body()) == (413, b"no")
        thread.join(5)


@pytest.mark.parametrize("endpoint", [Endpoint("http", "127.0.0.1", 1), Endpoint("http", "localhost" + "x" * 70, 80)])
def test_no_connection_is_told_as_such(endpoint: Endpoint) -> None:
    with pytest.raises(ConnectionFailedError, match=f"no connection to {endpoint.host}"):
        _get(Transport({}), endpoint)


def test_connecting_has_a_bound_of_its_own() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(4)]  # what the kernel takes before anybody accepts
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(address)
        began = time.monotonic()
        with pytest.raises(ConnectionFailedError):
            _get(Transport({}), Endpoint("http", "127.0.0.1", address[1], connect=0.2), seconds=30)
        assert time.monotonic() - began < 2
        for each in waiting:
            each.close()
