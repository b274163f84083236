"""How long a turn may take: the function's time, and the gateway's patience, which began before ours."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.agent.aws.servers import serving
from tests.agent.edge.gateway_events import function_url, http_api, rest_api
from tests.agent.edge.whole_function import Whole, unique
from tests.cases.functions import function_over
from tests.fakes import FakeContext

SLOW = {"text": "late", "latency_seconds": 0.6}


def milliseconds(seconds_ago: float) -> int:
    return round((time.time() - seconds_ago) * 1000)


def status(whole: Whole, event: dict[str, Any], seconds: float = 60) -> int:
    whole.play(*[SLOW] * 4)  # a request that was given up may still reach the model
    response, error = whole.ask(event, FakeContext(unique("invocation"), seconds=seconds))
    assert error is None
    return int(response["statusCode"])


def test_the_gateways_clock_began_before_ours(whole: Whole) -> None:
    body = {"question": "hi"}
    assert status(whole, http_api(body=body, timeEpoch=milliseconds(27.7))) == 504
    assert status(whole, rest_api(body=body, requestTimeEpoch=milliseconds(27.7))) == 504
    assert status(whole, http_api(body=body, timeEpoch=milliseconds(20))) == 200
    assert status(whole, rest_api(body=body, requestTimeEpoch=milliseconds(20))) == 200


@pytest.mark.parametrize("seconds_ago", [-60, 29, 10**9], ids=["in the future", "stale", "in another year"])
def test_a_clock_that_can_not_be_right_counts_as_now(whole: Whole, seconds_ago: float) -> None:
    assert status(whole, http_api(body={"question": "hi"}, timeEpoch=milliseconds(seconds_ago))) == 200


def test_a_function_url_has_the_functions_time(whole: Whole) -> None:
    event = function_url(body={"question": "hi"}, timeEpoch=milliseconds(27.7))
    assert status(whole, event) == 200
    assert status(whole, event, seconds=2.3) == 504


def test_the_functions_own_end_bounds_an_http_turn_too(whole: Whole) -> None:
    assert status(whole, http_api(body={"question": "hi"}, timeEpoch=milliseconds(0)), seconds=2.3) == 504


def test_a_direct_turn_knows_nothing_of_gateways(whole: Whole) -> None:
    whole.play(SLOW)
    answer, error = whole.ask({"question": "hi", "requestContext": {"timeEpoch": milliseconds(27.9)}})
    assert error is None
    assert answer["answer"] == "late"


def test_the_lease_is_the_deadline_and_five_seconds(whole: Whole) -> None:
    seen: list[dict[str, Any]] = []
    session = unique()

    def look(model_id: str, request: dict[str, Any]) -> Any:
        seen.extend(whole.items(session))
        return answer(model_id, request)

    answer = whole.play({"text": "Fine."})
    whole.answer_with(look)
    before = time.time()
    whole.direct(session_id=session, context=FakeContext(unique("invocation"), seconds=100))
    (item,) = seen
    assert item["status"] == {"S": "running"}
    assert item["lease_id"]["S"]
    assert abs(int(item["lease_until"]["N"]) / 1000 - (before + 98 + 5)) < 2
    assert json.loads(item["lease_until"]["N"]) > 1e12


@contextmanager
def hanging(*operations: str) -> Iterator[str]:
    """The address of a DynamoDB that never answers these operations, and all others at once."""
    inner = urlsplit(os.environ["AWS_ENDPOINT_URL_DYNAMODB"])

    def script(connection: socket.socket, request: bytes) -> None:
        if any(f"DynamoDB_20120810.{operation}\r\n".encode() in request for operation in operations):
            connection.recv(1)  # until the caller has left
            return
        with socket.create_connection((inner.hostname, inner.port)) as passed_on:
            passed_on.sendall(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            while data := passed_on.recv(65_536):
                connection.sendall(data)

    with serving(script) as server:
        yield server.url


WRITES = ("UpdateItem", "GetItem", "DeleteItem")


@pytest.mark.parametrize(
    ("operations", "latency", "limit", "status", "code"),
    [
        (("GetItem",), 0, "1000000", 504, "out_of_time"),
        (("Query",), 0, "", 504, "out_of_time"),
        (("PutItem", "DeleteItem"), 0, "", 504, "out_of_time"),
        (WRITES, 0.3, "", 200, None),
        (WRITES, 5, "", 504, "out_of_time"),
    ],
    ids=["reading the meter", "reading", "reserving", "saving", "freeing"],
)
def test_with_a_table_that_hangs_every_answer_comes_before_the_gateway_gives_up(
    whole: Whole, operations: tuple[str, ...], latency: float, limit: str, status: int, code: str | None
) -> None:
    whole.play({"text": "paid for", "latency_seconds": latency})
    with hanging(*operations) as url:
        function = function_over(bedrock=whole.server.url, dynamodb=url, CALLER_DAILY_TOKENS=limit)
        began = time.time()
        event = http_api(body={"question": "hi"}, timeEpoch=round((began - 26.8) * 1000))
        response, error = function.answer(event, FakeContext(unique("invocation"), seconds=60))
        assert time.time() - began < 29 - 26.8
    assert error is None
    assert isinstance(response, dict)
    body = json.loads(response["body"])
    assert (response["statusCode"], body.get("error", {}).get("code")) == (status, code)
    if status == 200:
        assert (body["answer"], body["saved"]) == ("paid for", False)
