"""How long a turn may take: the function's time, and the gateway's patience, which began before ours."""

import json
import time
from typing import Any

import pytest

from tests.agent.edge.gateway_events import function_url, http_api, rest_api
from tests.agent.edge.whole_function import Whole, unique
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
