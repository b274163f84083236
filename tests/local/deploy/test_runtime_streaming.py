"""Streamed answers beside Lambda's real runtime client, in a process of its own, over the Runtime API stand-in."""

import json
import os
import sysconfig
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local.deploy.runtime import LambdaRuntime
from tests.agent.edge.gateway_events import events_of, function_url, http_api

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
ACCEPTS = {"accept": "text/event-stream"}
PRELUDE_END = b"\0" * 8

# The function over fakes, in the process that Lambda's client runs; `changed` takes its seam away before.
MODULE = """
import os, threading, time
from agent.errors import ModelError
from agent.tooling.tool import tool
from tests.fakes import asks, reply, use

if os.environ.get("CHANGED") == "gone":
    import sys
    client = sys.modules.pop("awslambdaric.lambda_runtime_client")
    sys.modules["awslambdaric.lambda_runtime_client"] = None
if os.environ.get("CHANGED") == "renamed":
    from awslambdaric import lambda_runtime_client
    def other(self, invocation, *rest, _post=lambda_runtime_client.BaseLambdaRuntimeClient.post_invocation_result):
        return _post(self, invocation, *rest)
    lambda_runtime_client.BaseLambdaRuntimeClient.post_invocation_result = other

from tests.local.deploy.streaming_function import make

function = make(os.environ)

def handler(event, context):
    if event == "pid":
        return {"pid": os.getpid(), "threads": [each.name for each in threading.enumerate()]}
    if event == "fail":
        raise ValueError("as Python does")
    if isinstance(event, dict) and event.get("then") == "raise":
        function.answer(event["event"], context)
        raise ValueError("after the answer")
    response, error = function.answer(event, context)
    if error is not None:
        raise error from None
    return response
"""


@contextmanager
def runtime(folder: Path, *, timeout_seconds: float = 30, **environment: str) -> Iterator[LambdaRuntime]:
    (folder / "module.py").write_text(MODULE)
    paths = [str(folder), str(ROOT / "lambda"), str(ROOT), sysconfig.get_path("purelib")]
    told = {"PYTHONPATH": os.pathsep.join(paths), **environment}
    with LambdaRuntime(folder, "module.handler", told, timeout_seconds=timeout_seconds, name="agent") as started:
        yield started


def ask(question: str, **more: Any) -> dict[str, Any]:
    """A function URL's event that asks for events."""
    return function_url(body={"question": question, "session_id": "s", **more}, headers=ACCEPTS)


def test_streamed_and_plain_answers_take_turns_in_one_environment(tmp_path: Path) -> None:
    with runtime(tmp_path) as function:
        before, _ = function.invoke("pid")
        for number in range(3):
            chunks: list[bytes] = []
            times: list[float] = []

            def take(chunk: bytes, chunks: list[bytes] = chunks, times: list[float] = times) -> None:
                chunks.append(chunk)
                times.append(time.monotonic())

            whole, succeeded = function.invoke(ask(f"slowly {number}"), take)
            assert succeeded
            assert b"".join(chunks).decode() == whole
            names = [name for name, _ in events_of(whole.encode().partition(PRELUDE_END)[2])]
            assert (names[0], names[-1]) == ("start", "answer")
            # the model pauses between its pieces, and each comes when it is said
            assert times[-1] - times[0] > 0.1
            plain, succeeded = function.invoke(http_api(body={"question": "plain", "session_id": "p"}))
            assert succeeded
            assert plain["statusCode"] == 200
        after, _ = function.invoke("pid")
    assert before["pid"] == after["pid"]
    assert after["threads"] == before["threads"]


def test_a_failure_after_the_start_is_an_event_and_the_environment_stays(tmp_path: Path) -> None:
    with runtime(tmp_path) as function:
        before, _ = function.invoke("pid")
        whole, succeeded = function.invoke(ask("break"))
        assert succeeded
        assert events_of(whole.encode().partition(PRELUDE_END)[2])[-1][0] == "error"
        error, succeeded = function.invoke("fail")
        assert (error["errorType"], succeeded) == ("ValueError", False)
        assert function.invoke("pid") == (before, True)


def test_an_error_behind_a_streamed_answer_is_not_posted_either(tmp_path: Path) -> None:
    with runtime(tmp_path) as function:
        before, _ = function.invoke("pid")
        whole, succeeded = function.invoke({"then": "raise", "event": ask("plain")})
        assert succeeded
        assert "event: answer" in whole
        assert function.invoke("pid") == (before, True)


def test_a_retry_of_lambdas_own_with_the_same_id_is_answered_anew(tmp_path: Path) -> None:
    with runtime(tmp_path) as function:
        before, _ = function.invoke("pid", request_id="the-same")
        first, _ = function.invoke(ask("plain", request_id="r"), request_id="the-same")
        again, succeeded = function.invoke(ask("plain", request_id="r"), request_id="the-same")
        assert succeeded
        assert (
            events_of(again.encode().partition(PRELUDE_END)[2])[-1]
            == events_of(first.encode().partition(PRELUDE_END)[2])[-1]
        )
        buffered, succeeded = function.invoke({"question": "plain"}, request_id="the-same")
        assert succeeded
        assert buffered["answer"]
        assert function.invoke("pid") == (before, True)


@pytest.mark.parametrize("changed", ["gone", "renamed"])
def test_where_the_client_has_changed_it_is_told_once_the_stream_arrives_and_the_environment_is_given_up(
    tmp_path: Path, changed: str
) -> None:
    with runtime(tmp_path, CHANGED=changed) as function:
        before, _ = function.invoke("pid")
        for _ in range(2):
            whole, succeeded = function.invoke(ask("plain"))
            assert succeeded
            assert "event: answer" in whole
        after, succeeded = function.invoke("pid")
        assert succeeded
        assert after["pid"] != before["pid"]
        told = [line for line in function.logs if "runtime client has changed" in line]
    # once in each environment: the first ended with the first stream, the second with the second
    assert len(told) == 3


def test_a_reader_who_never_reads_costs_the_answer_but_neither_turn_nor_environment(tmp_path: Path) -> None:
    has_ended = threading.Event()

    def take(chunk: bytes) -> None:
        """Reads nothing until the function has cut the way, a second before its end."""
        has_ended.wait(4.4)
        has_ended.set()

    with runtime(tmp_path, timeout_seconds=5) as function:
        before, _ = function.invoke("pid")
        error, succeeded = function.invoke(ask("a lot", request_id="r"), take)
        assert not succeeded
        assert error["errorType"] == "Runtime.TruncatedResponse"
        # the turn went on, and is kept
        again, succeeded = function.invoke(ask("a lot", request_id="r"))
        assert succeeded
        [start, (name, answer)] = events_of(again.encode().partition(PRELUDE_END)[2])
        assert (start[0], name, answer.get("saved", True)) == ("start", "answer", True)
        assert function.invoke("pid") == (before, True)


def test_with_an_empty_environment_even_the_refusal_streams(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": os.pathsep.join([str(ROOT / "lambda"), sysconfig.get_path("purelib")])}
    with LambdaRuntime(
        ROOT / "lambda", "handler.lambda_handler", environment | {"STREAMING": "TRUE"}, timeout_seconds=30, name="agent"
    ) as function:
        whole, succeeded = function.invoke(function_url(body={"question": "hi"}))
        plain, _ = function.invoke(http_api(body={"question": "hi"}))
    assert succeeded
    head, _, body = whole.partition("\0" * 8)
    assert json.loads(head)["statusCode"] == 500
    assert json.loads(body)["error"]["code"] == "misconfigured"
    assert plain["statusCode"] == 500
