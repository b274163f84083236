"""The Runtime API stand-in takes whole and streamed responses, and refuses what Lambda's refuses."""

import json
import socket
from collections.abc import Iterator

import pytest

from local.runtime_api import API, WITH_PRELUDE, Invocation, RuntimeApi

CHUNKED = "Transfer-Encoding: chunked\r\nLambda-Runtime-Function-Response-Mode: streaming\r\n"


@pytest.fixture
def api() -> Iterator[RuntimeApi]:
    started = RuntimeApi("arn:aws:lambda:us-east-1:123456789012:function:agent")
    yield started
    started.close()


def post(api: RuntimeApi, path: str, headers: str, body: bytes, *, ends: bool = False) -> tuple[int, dict[str, str]]:
    """The status and the body of a raw request; with `ends` nothing more is sent."""
    host, port = api.address.split(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(f"POST {API}{path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n".encode() + body)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
            data = connection.recv(65_536)
            if not data:
                break
            answer += data
    return (int(answer.split(b" ")[1]), json.loads(answer.partition(b"\r\n\r\n")[2])) if answer else (0, {})


def expected(api: RuntimeApi) -> tuple[Invocation, list[bytes]]:
    came: list[bytes] = []
    invocation = Invocation(b"{}", 0, came.append)
    api.expect(invocation)
    return invocation, came


def test_a_streamed_response_comes_by_chunks_with_its_content_type(api: RuntimeApi) -> None:
    invocation, came = expected(api)
    kind = f"{CHUNKED}Content-Type: {WITH_PRELUDE}\r\n"
    status, _ = post(api, f"invocation/{invocation.request_id}/response", kind, b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
    assert status == 202
    assert came == [b"ab", b"c"]
    assert invocation.outcome.result(1) == ("abc", True)
    assert invocation.content_type == WITH_PRELUDE


def test_a_chunked_response_that_is_not_streamed_is_a_whole_one(api: RuntimeApi) -> None:
    invocation, came = expected(api)
    path = f"invocation/{invocation.request_id}/response"
    assert post(api, path, "Transfer-Encoding: chunked\r\n", b'8\r\n{"a": 1}\r\n0\r\n\r\n')[0] == 202
    assert invocation.outcome.result(1) == ({"a": 1}, True)
    assert came == []


@pytest.mark.parametrize("body", [b"2\r\nab\r\n", b"5\r\nab", b""])
def test_a_stream_without_its_last_chunk_is_a_failure(api: RuntimeApi, body: bytes) -> None:
    invocation, _ = expected(api)
    post(api, f"invocation/{invocation.request_id}/response", CHUNKED, body, ends=True)
    error, succeeded = invocation.outcome.result(5)
    assert (error["errorType"], succeeded) == ("Runtime.TruncatedResponse", False)


def test_a_second_response_is_refused(api: RuntimeApi) -> None:
    invocation, _ = expected(api)
    path = f"invocation/{invocation.request_id}/response"
    assert post(api, path, CHUNKED, b"1\r\na\r\n0\r\n\r\n")[0] == 202
    for second in (path, path.replace("response", "error")):
        status, told = post(api, second, "Content-Length: 4\r\n", b"null")
        assert (status, told["errorType"]) == (400, "InvalidRequestID")
    assert invocation.outcome.result(1) == ("a", True)


def test_a_mode_that_is_none_is_refused(api: RuntimeApi) -> None:
    invocation, _ = expected(api)
    path, head = f"invocation/{invocation.request_id}/response", CHUNKED.replace("Mode: s", "Mode: S")
    assert post(api, path, head, b"1\r\na\r\n0\r\n\r\n")[0] == 400
    assert not invocation.outcome.done()


def test_another_invocation_id_is_refused_and_the_right_one_taken(api: RuntimeApi) -> None:
    invocation, _ = expected(api)
    path = f"invocation/{invocation.request_id}/response"
    head = f"{CHUNKED}Lambda-Runtime-Invocation-Id: "
    assert post(api, path, f"{head}another\r\n", b"0\r\n\r\n")[0] == 400
    assert post(api, path, f"{head}{invocation.invocation_id}\r\n", b"0\r\n\r\n")[0] == 202


@pytest.mark.parametrize(("said", "kind"), [("Function.Broken", "Function.Broken"), ("ValueError", "Runtime.Unknown")])
def test_a_trailer_tells_of_an_error_in_the_middle(api: RuntimeApi, said: str, kind: str) -> None:
    invocation, _ = expected(api)
    trailer = f"0\r\nLambda-Runtime-Function-Error-Type: {said}\r\n\r\n".encode()
    post(api, f"invocation/{invocation.request_id}/response", CHUNKED, b"1\r\na\r\n" + trailer)
    error, succeeded = invocation.outcome.result(1)
    assert (error["errorType"], succeeded) == (kind, False)
