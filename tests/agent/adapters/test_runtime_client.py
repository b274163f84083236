"""The seam to Lambda's runtime client: what it leaves out, and what is sent in its place."""

import socket
import threading
from typing import Any

import pytest
from awslambdaric import lambda_runtime_client  # type: ignore[import-untyped]

from agent.adapters.runtime import LambdaRuntime
from local.runtime_api import Invocation, RuntimeApi

CLIENT = lambda_runtime_client.BaseLambdaRuntimeClient


class Received:
    """What the client's own methods were called with, once they are replaced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, invocation_id: str | None = None) -> None:
        self.posted: list[tuple[Any, ...]] = []
        posted = self.posted

        def wait_next_invocation(self: Any) -> Any:
            return lambda_runtime_client.InvocationRequest(invoke_id="i", invocation_id=invocation_id)

        def post_invocation_result(self: Any, invoke_id: str, *more: Any) -> None:
            posted.append(("result", invoke_id, *more))

        def post_invocation_error(self: Any, invoke_id: str, *more: Any) -> None:
            posted.append(("error", invoke_id, *more))

        for method in (wait_next_invocation, post_invocation_result, post_invocation_error):
            monkeypatch.setattr(CLIENT, method.__name__, method)


def test_only_the_invocation_in_hand_is_left_out_and_only_once_a_byte_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    received = Received(monkeypatch)
    api = RuntimeApi("arn")
    runtime = LambdaRuntime({"AWS_LAMBDA_RUNTIME_API": api.address}, pytest.fail)
    client = CLIENT("unused")
    client.wait_next_invocation()
    client.post_invocation_result("i", "buffered")
    api.expect(Invocation(b"", 0, request_id="i"))
    outlet = runtime.open("i", "text/event-stream")
    assert outlet
    outlet.write(b"x")
    outlet.close()
    client.post_invocation_result("i", "null")
    client.post_invocation_error("i", "{}", "")
    client.post_invocation_result("another", "buffered")
    client.wait_next_invocation()
    client.post_invocation_result("i", "retried by Lambda")
    api.close()
    assert received.posted == [
        ("result", "i", "buffered"),
        ("result", "another", "buffered"),
        ("result", "i", "retried by Lambda"),
    ]


@pytest.mark.parametrize("invocation_id", ["the-other-name", None])
def test_the_invocation_id_is_told_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, invocation_id: str | None
) -> None:
    Received(monkeypatch, invocation_id)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        runtime = LambdaRuntime({"AWS_LAMBDA_RUNTIME_API": address}, pytest.fail)
        CLIENT("unused").wait_next_invocation()
        outlet = runtime.open("i", "text/event-stream")
        assert outlet
        outlet.write(b"ab")
        connection, _ = server.accept()
        with connection:
            connection.settimeout(10)
            head = connection.recv(65_536)
        outlet.cut()
    assert head.startswith(b"POST /2018-06-01/runtime/invocation/i/response HTTP/1.1\r\n")
    assert b"\r\nLambda-Runtime-Function-Response-Mode: streaming\r\n" in head
    assert head.endswith(b"\r\n\r\n2\r\nab\r\n")
    assert (b"Lambda-Runtime-Invocation-Id: the-other-name" in head) == (invocation_id is not None)


@pytest.mark.parametrize("address", [None, "", "nowhere", "127.0.0.1:nothing", "127.0.0.1:1"])
def test_where_no_runtime_api_answers_nothing_is_opened_and_nothing_left_out(
    monkeypatch: pytest.MonkeyPatch, address: str | None
) -> None:
    received = Received(monkeypatch)
    runtime = LambdaRuntime({} if address is None else {"AWS_LAMBDA_RUNTIME_API": address}, pytest.fail)
    assert runtime.open("i", "text/event-stream") is None
    CLIENT("unused").post_invocation_result("i", "buffered")
    assert received.posted == [("result", "i", "buffered")]


def test_the_address_is_read_at_each_invocation(monkeypatch: pytest.MonkeyPatch) -> None:
    Received(monkeypatch)
    environment = {"AWS_LAMBDA_RUNTIME_API": "127.0.0.1:1"}
    runtime = LambdaRuntime(environment, pytest.fail)
    assert runtime.open("i", "text/event-stream") is None
    api = RuntimeApi("arn")
    environment["AWS_LAMBDA_RUNTIME_API"] = api.address
    outlet = runtime.open("i", "text/event-stream")
    assert outlet
    outlet.cut()
    api.close()


def test_a_refused_response_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    Received(monkeypatch)
    api = RuntimeApi("arn")
    outlet = LambdaRuntime({"AWS_LAMBDA_RUNTIME_API": api.address}, pytest.fail).open("nobody waits for this", "a/b")
    assert outlet

    def send() -> None:
        for _ in range(1000):
            outlet.write(b"x" * 10_000)
        outlet.close()

    with pytest.raises(OSError):  # noqa: PT011 - refused, or the connection is gone before that is read
        send()
    outlet.cut()
    api.close()


def test_a_write_that_waits_for_its_reader_ends_when_the_way_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    Received(monkeypatch)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        outlet = LambdaRuntime({"AWS_LAMBDA_RUNTIME_API": address}, pytest.fail).open("i", "a/b")
        assert outlet
        failed = threading.Event()

        def write() -> None:
            try:
                outlet.write(b"x" * 50_000_000)
            except OSError:
                failed.set()

        thread = threading.Thread(target=write)
        thread.start()
        assert not failed.wait(0.05)
        outlet.cut()
        thread.join(10)
        assert failed.is_set()


def test_a_client_whose_methods_have_other_parameters_is_left_as_it_is_and_told_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def post_invocation_error(self: Any, invocation: Any) -> None:
        """Another signature."""

    monkeypatch.setattr(CLIENT, "post_invocation_error", post_invocation_error)
    before = CLIENT.post_invocation_result
    told: list[str] = []
    LambdaRuntime({"AWS_LAMBDA_FUNCTION_NAME": "agent"}, told.append)
    assert len(told) == 1
    LambdaRuntime({}, pytest.fail)  # outside Lambda there is no client to be told
    assert CLIENT.post_invocation_result is before
