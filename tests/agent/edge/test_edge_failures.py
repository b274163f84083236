"""Each failure of the model: its code, its HTTP status, what is raised, how often it was tried, and that the session is free."""

import json
import re
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import agent.deadline
from agent.errors import AgentError
from tests.agent.edge.gateway_events import http_api
from tests.agent.edge.whole_function import Whole, unique
from tests.fakes import FakeContext

ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/secret"
MESSAGE = f"Refused by {ARN}: Traceback (most recent call last): botocore.exceptions.ClientError"
MODEL_ID_WRONG = "The provided model identifier is invalid."
ON_DEMAND = (
    "Invocation of model ID x with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an "
    "inference profile that contains this model."
)

# (what the model does, code, HTTP status, raised as, most attempts)
FAILURES: list[tuple[dict[str, Any], str, int, str, int]] = [
    ({"error": "ThrottlingException"}, "model_throttled", 429, "ModelThrottledError", 5),
    ({"error": "ServiceQuotaExceededException"}, "model_throttled", 429, "ModelThrottledError", 5),
    ({"error": "ModelErrorException", "status": 424}, "model_error", 502, "ModelError", 5),
    ({"error": "ValidationException", "message": "messages.3: not allowed"}, "model_error", 502, "ModelError", 1),
    ({"error": "ConflictException", "status": 400}, "model_error", 502, "ModelError", 1),
    ({"error": "InternalServerException", "status": 500}, "model_unavailable", 503, "ModelUnavailableError", 5),
    ({"error": "ServiceUnavailableException", "status": 503}, "model_unavailable", 503, "ModelUnavailableError", 5),
    ({"error": "SomethingNewException", "status": 502}, "model_unavailable", 503, "ModelUnavailableError", 5),
    ({"error": "ModelNotReadyException", "status": 429}, "model_unavailable", 503, "ModelUnavailableError", 5),
    ({"error": "ModelTimeoutException", "status": 408}, "model_unavailable", 503, "ModelUnavailableError", 1),
    ({"drop": "before"}, "model_unavailable", 503, "ModelUnavailableError", 5),
    ({"drop": "middle", "text": "half"}, "model_unavailable", 503, "ModelUnavailableError", 5),
    ({"error": "AccessDeniedException", "status": 403}, "misconfigured", 500, "MisconfiguredError", 1),
    ({"error": "ResourceNotFoundException", "status": 404}, "misconfigured", 500, "MisconfiguredError", 1),
    ({"error": "UnrecognizedClientException", "status": 403}, "misconfigured", 500, "MisconfiguredError", 1),
    ({"error": "ValidationException", "message": MODEL_ID_WRONG}, "misconfigured", 500, "MisconfiguredError", 1),
    ({"error": "ValidationException", "message": ON_DEMAND}, "misconfigured", 500, "MisconfiguredError", 1),
]
TOO_LONG = {"error": "ValidationException", "message": "Input is too long for requested model."}
RETRIED = {"model_throttled", "model_unavailable"}


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, which are not waited for."""
    made: list[float] = []
    monkeypatch.setattr(agent.deadline, "time", SimpleNamespace(sleep=made.append))
    return made


def failing(whole: Whole, entry: dict[str, Any]) -> None:
    told = {"message": MESSAGE} if "error" in entry and "message" not in entry else {}
    whole.play(*[{**entry, **told}] * 9)


@pytest.mark.parametrize(("entry", "code", "status", "raised", "attempts"), FAILURES, ids=lambda value: str(value)[:40])
def test_a_failure_of_the_model_has_its_code_and_frees_the_session(
    whole: Whole, entry: dict[str, Any], code: str, status: int, raised: str, attempts: int
) -> None:
    session = unique()
    failing(whole, entry)
    response, error = whole.ask(http_api(body={"question": "hi", "session_id": session}))
    assert error is None
    body = json.loads(response["body"])
    assert (response["statusCode"], body["error"]["code"]) == (status, code)
    assert set(body) == {"error", "request_id"}
    assert ("retry-after" in response["headers"]) is (code in RETRIED)
    assert response["headers"].get("retry-after", "5") == "5"
    assert 1 <= len(whole.requests) <= attempts
    assert_tells_nothing(response["body"])
    assert whole.items(f"anonymous#{session}") == []

    answer, error = whole.ask({"question": "hi", "session_id": session})
    assert answer is None
    assert isinstance(error, AgentError)
    assert (type(error).__name__, error.code) == (raised, code)
    assert_tells_nothing(str(error))
    assert whole.items(session) == []


def assert_tells_nothing(text: str) -> None:
    """No ARN, account, class or trace."""
    assert not re.search(r"arn:|\b[0-9]{12}\b|Traceback|botocore|[A-Z][a-z]+(Error|Exception)\b|\.py\b", text)


@pytest.mark.parametrize("name", ["ThrottlingException", "ServiceUnavailableException", "InternalServerException"])
def test_a_failure_that_passes_is_tried_again(whole: Whole, name: str, pauses: list[float]) -> None:
    whole.play({"error": name}, {"error": name}, {"text": "at last"})
    assert whole.direct()["answer"] == "at last"
    assert len(pauses) == 2
    assert all(0 < pause <= 5 for pause in pauses)


def test_a_connection_that_was_dropped_is_made_again(whole: Whole) -> None:
    whole.play({"drop": "before"}, {"text": "at last"})
    assert whole.direct()["answer"] == "at last"


def test_a_question_too_long_for_the_model_is_returned(whole: Whole) -> None:
    failing(whole, TOO_LONG)
    answer, error = whole.ask({"question": "hi"})
    assert error is None
    assert answer["error"]["code"] == "payload_too_large"
    response, _ = whole.ask(http_api(body={"question": "hi"}))
    assert response["statusCode"] == 413


def test_an_answer_that_is_no_json_ends_in_a_documented_answer(whole: Whole) -> None:
    whole.play(*[{"garbage": True}] * 9)
    response, error = whole.ask(http_api(body={"question": "hi"}))
    assert error is None
    body = json.loads(response["body"])
    if response["statusCode"] == 200:
        assert body["answer"].strip()
    else:
        assert (response["statusCode"], body["error"]["code"]) == (503, "model_unavailable")
    assert_tells_nothing(response["body"])


def test_a_silent_model_is_sent_one_request_and_left_in_time(whole: Whole) -> None:
    session = unique()
    whole.play(*[{"silent": True}] * 9)
    answer, error = whole.ask({"question": "hi", "session_id": session}, FakeContext(unique("invocation"), seconds=2.3))
    assert answer is None
    assert type(error).__name__ == "OutOfTimeError"
    assert len(whole.requests) == 1
    assert whole.items(session) == []
    assert not [t for t in threading.enumerate() if not t.daemon and t is not threading.main_thread()]


def test_a_silent_model_behind_the_gateway_is_504(whole: Whole) -> None:
    whole.play(*[{"silent": True}] * 9)
    response, _ = whole.ask(http_api(body={"question": "hi"}), FakeContext(unique("invocation"), seconds=2.3))
    assert response["statusCode"] == 504
    assert json.loads(response["body"])["error"]["code"] == "out_of_time"
    assert "retry-after" not in response["headers"]


def test_running_out_after_an_answer_of_the_model_is_no_failure(whole: Whole) -> None:
    whole.play({"tool_use": {"name": "sine", "input": {"x": 1}}}, {"silent": True})
    answer = whole.direct(session_id=unique(), context=FakeContext(unique("invocation"), seconds=2.5))
    assert answer["stop_reason"] == "deadline"
    assert answer["answer"].strip()
    assert [use["status"] for use in answer["tool_uses"]] == ["success"]


def test_no_time_at_all_asks_neither_model_nor_table(whole: Whole) -> None:
    session = unique()
    _, error = whole.ask({"question": "hi", "session_id": session}, FakeContext(unique("invocation"), seconds=1))
    assert type(error).__name__ == "OutOfTimeError"
    assert not whole.requests
    assert whole.items(session) == []


def test_a_throttled_model_is_not_waited_for_beyond_the_end(whole: Whole, pauses: list[float]) -> None:
    failing(whole, {"error": "ThrottlingException"})
    _, error = whole.ask({"question": "hi"}, FakeContext(unique("invocation"), seconds=2.24))
    assert type(error).__name__ in ("ModelThrottledError", "OutOfTimeError")
    assert pauses == []
