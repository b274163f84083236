"""Whatever comes in, a documented answer goes out."""

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.edge.responses import RETURNED, STATUS
from agent.errors import AgentError
from tests.agent.edge.gateway_events import http_api
from tests.agent.edge.whole_function import Whole

fuzzed = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
METHODS = st.sampled_from(["GET", "POST", "DELETE", "OPTIONS", "PUT", "", "get"])
PATHS = st.sampled_from(["/chat", "/sessions/s", "/sessions//", "/health", "/", "", "/prod/chat", "%", "/sessions/%00"])
CONTEXTS = st.fixed_dictionaries(
    {},
    optional={
        "http": st.fixed_dictionaries({}, optional={"method": METHODS | JSON, "path": PATHS | JSON}) | JSON,
        "stage": st.sampled_from(["prod", "$default"]) | JSON,
        "timeEpoch": JSON,
        "requestTimeEpoch": JSON,
        "authorizer": JSON | st.dictionaries(st.sampled_from(["jwt", "claims", "iam", "lambda", "principalId"]), JSON),
        "identity": JSON,
        "domainName": JSON,
    },
)
EVENTS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "requestContext": CONTEXTS | JSON,
        "httpMethod": METHODS | JSON,
        "path": PATHS | JSON,
        "rawPath": PATHS | JSON,
        "body": st.just('{"question": "hi"}') | JSON,
        "isBase64Encoded": st.booleans() | JSON,
        "headers": st.dictionaries(st.text(max_size=5), JSON, max_size=2) | JSON,
        "routeKey": JSON,
        "question": st.text(max_size=20) | JSON,
        "session_id": st.text("ab.#", max_size=3) | JSON,
        "request_id": st.text("ab.#", max_size=3) | JSON,
    },
)


def check(answer: Any, error: AgentError | None) -> int | None:
    """Holds the answer against the contract; gives the HTTP status, if it is an HTTP response."""
    if error is not None:
        assert answer is None
        assert error.code in STATUS
        assert error.code not in ("internal", *RETURNED)
        return None
    assert json.dumps(answer).encode()
    if "statusCode" in answer:
        assert answer["statusCode"] in {200, 204, *STATUS.values()}
        if answer["statusCode"] >= 400:
            body = json.loads(answer["body"])
            assert STATUS[body["error"]["code"]] == answer["statusCode"]
            assert body["error"]["code"] != "internal"
        return int(answer["statusCode"])
    if "error" in answer:
        assert answer["error"]["code"] in RETURNED
    else:
        assert answer.get("warm") or answer["answer"].strip()
    return None


@fuzzed
@given(event=EVENTS)
def test_any_event_has_a_documented_answer(one_function: Whole, event: Any) -> None:
    check(*one_function.ask(event))


@fuzzed
@given(body=st.text() | st.binary().map(lambda data: data.decode("latin-1")) | JSON.map(json.dumps), flag=st.booleans())
def test_any_body_has_an_answer_that_is_no_failure_of_ours(one_function: Whole, body: str, flag: bool) -> None:
    status = check(*one_function.ask({**http_api(body=body), "isBase64Encoded": flag}))
    assert status in (200, 400, 409, 413)


@fuzzed
@given(body=st.binary() | JSON.map(lambda value: json.dumps(value).encode("utf-16")))
def test_any_bytes_in_base64_have_an_answer_that_is_no_failure_of_ours(one_function: Whole, body: bytes) -> None:
    event = {**http_api(body=base64.b64encode(body).decode()), "isBase64Encoded": True}
    assert check(*one_function.ask(event)) in (200, 400, 413)


@settings(fuzzed, max_examples=50)
@given(question=st.text(min_size=1, max_size=200))
def test_any_question_that_is_not_blank_reaches_the_model_within_the_rules(one_function: Whole, question: str) -> None:
    one_function.begin()
    status = check(*one_function.ask(http_api(body={"question": question})))
    assert status == (200 if question.strip() else 400)
    assert not [v for request in one_function.requests for v in request.violations if v.level == "error"]


@fuzzed
@given(path=st.text(max_size=30), method=METHODS, stage=st.text(max_size=5))
def test_any_path_has_a_documented_answer(one_function: Whole, path: str, method: str, stage: str) -> None:
    assert check(*one_function.ask(http_api(method, path, "{}", stage=stage))) in (200, 204, 400, 404, 405)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "event",
    [
        {"question": nested(100_000)},
        {"question": "hi", "other": nested(100_000)},
        {"question": "hi", "session_id": nested(100_000)},
        {"httpMethod": "POST", "path": "/chat", "headers": {"x": nested(100_000)}, "body": "{}"},
        {"httpMethod": "POST", "path": nested(100_000), "body": "{}"},
        {"httpMethod": "POST", "path": "/chat", "requestContext": {"stage": nested(100_000)}, "body": "{}"},
        {"httpMethod": "POST", "path": "/chat", "requestContext": {"authorizer": {"jwt": nested(9_999)}}, "body": "{}"},
    ],
    ids=["question", "unknown key", "session_id", "header", "path", "stage", "authorizer"],
)
def test_an_event_of_endless_depth_has_a_documented_answer(whole: Whole, event: dict[str, Any]) -> None:
    check(*whole.ask(event))
