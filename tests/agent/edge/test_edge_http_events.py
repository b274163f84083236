"""HTTP events of every kind: routes, methods, stages, ids in the path."""

import json
from typing import Any

import pytest

from tests.agent.edge.gateway_events import MAKERS, Maker, error_code, function_url, http_api, rest_api
from tests.agent.edge.whole_function import Whole, unique

every_gateway = pytest.mark.parametrize("event", MAKERS, ids=lambda maker: maker.__name__)


@every_gateway
def test_a_question_is_answered_as_written_in_utf_8(whole: Whole, event: Maker) -> None:
    whole.play({"text": "東京は晴れ🌞"})
    response = whole.http(event(body={"question": "こんにちは", "session_id": unique()}))
    assert response["statusCode"] == 200
    assert "東京は晴れ🌞" in response["body"]
    assert json.loads(response["body"])["stop_reason"] == "end_turn"


@every_gateway
def test_the_turns_of_a_session_are_read_and_forgotten(whole: Whole, event: Maker) -> None:
    session = unique()
    whole.http(event(body={"question": "one", "session_id": session}))
    whole.http(event(body={"question": "two", "session_id": session}))
    read = whole.http(event("GET", f"/sessions/{session}"))
    body = json.loads(read["body"])
    assert read["statusCode"] == 200
    assert body["session_id"] == session
    assert [(turn["turn"], turn["question"], turn["answer"]) for turn in body["turns"]] == [
        (1, "one", "Fine."),
        (2, "two", "Fine."),
    ]
    fields = {"turn", "question", "answer", "created_at", "stop_reason", "tool_uses", "usage"}
    assert all(set(turn) == fields for turn in body["turns"])
    gone = whole.http(event("DELETE", f"/sessions/{session}"))
    assert (gone["statusCode"], gone["body"]) == (204, "")
    missing = whole.http(event("GET", f"/sessions/{session}"))
    assert (missing["statusCode"], error_code(missing)) == (404, "not_found")
    assert whole.http(event("DELETE", f"/sessions/{session}"))["statusCode"] == 204


@every_gateway
def test_health_asks_no_model(whole: Whole, event: Maker) -> None:
    assert whole.http(event("GET", "/health"))["statusCode"] == 200
    assert not whole.requests


@every_gateway
@pytest.mark.parametrize(
    "path", ["/chat", "/sessions/a", "/sessions/a/approvals", "/health", "/chat/", "/sessions/no%20id"]
)
def test_options_on_any_route_answers_without_a_model(whole: Whole, event: Maker, path: str) -> None:
    response = whole.http(event("OPTIONS", path))
    assert (response["statusCode"], response["body"]) == (204, "")
    assert not whole.requests


@every_gateway
@pytest.mark.parametrize(
    ("method", "path", "status", "allowed"),
    [
        ("GET", "/chat", 405, {"POST", "OPTIONS"}),
        ("PUT", "/sessions/a", 405, {"GET", "DELETE", "OPTIONS"}),
        ("GET", "/sessions/a/approvals", 405, {"POST", "OPTIONS"}),
        ("HEAD", "/health", 405, {"GET", "OPTIONS"}),
        ("GET", "/", 404, None),
        ("GET", "/sessions", 404, None),
        ("POST", "/chats", 404, None),
        ("POST", "/chat/chat/chat", 404, None),
        ("GET", "/sessions/a/b", 404, None),
    ],
)
def test_what_is_no_route_says_what_is(
    whole: Whole, event: Maker, method: str, path: str, status: int, allowed: set[str] | None
) -> None:
    response = whole.http(event(method, path))
    assert response["statusCode"] == status
    assert error_code(response) == {404: "not_found", 405: "method_not_allowed"}[status]
    if allowed:
        assert set(response["headers"]["allow"].replace(" ", "").split(",")) == allowed
    assert not whole.requests


@pytest.mark.parametrize(
    "event",
    [
        http_api(path="/prod/chat", stage="prod", route="POST /chat", body={"question": "hi"}),
        http_api(path="/chat", stage="$default", body={"question": "hi"}),
        http_api(path="/chat/", body={"question": "hi"}),
        rest_api(path="/chat", stage="prod", body={"question": "hi"}),
        http_api(path="/v1/agent/chat", route="POST /chat", body={"question": "hi"}),
        rest_api(path="/v1/chat", resource="/chat", body={"question": "hi"}),
        function_url(path="/chat", body={"question": "hi"}),
    ],
    ids=["stage", "default stage", "slash", "rest", "custom domain", "rest behind a custom domain", "function url"],
)
def test_a_route_is_found_behind_stages_and_base_paths(whole: Whole, event: dict[str, Any]) -> None:
    assert whole.http(event)["statusCode"] == 200


@pytest.mark.parametrize(
    "event",
    [
        http_api(path="/hello", stage="hel", body={"question": "hi"}),
        http_api(path="/prodchat", stage="prod", body={"question": "hi"}),
        http_api(path="/dev/chat", stage="prod", route="$default", body={"question": "hi"}),
    ],
    ids=["stage begins the path", "no slash", "another stage"],
)
def test_a_stage_is_only_a_whole_first_segment(whole: Whole, event: dict[str, Any]) -> None:
    assert whole.http(event)["statusCode"] == 404


def test_a_session_behind_a_base_path_keeps_its_id(whole: Whole) -> None:
    session = unique()
    whole.http(http_api(body={"question": "hi", "session_id": session}))
    event = http_api("GET", f"/agent/sessions/{session}", route="GET /sessions/{session_id}")
    assert json.loads(whole.http(event)["body"])["session_id"] == session


@pytest.mark.parametrize("part", ["%20", "x" * 129, "%F0%9F%8C%9E", "a%23b", "a%2Fb", "%00", "%ff"])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_an_id_in_the_path_is_checked(whole: Whole, method: str, part: str) -> None:
    response = whole.http(http_api(method, f"/sessions/{part}"))
    assert (response["statusCode"], error_code(response)) == (400, "invalid_request")


def test_an_empty_id_in_the_path_names_no_session(whole: Whole) -> None:
    for path in ("/sessions/", "//sessions//", "/sessions//approvals"):
        assert whole.http(http_api("GET", path))["statusCode"] in (400, 404, 405)


def test_an_id_in_the_path_may_be_percent_encoded(whole: Whole) -> None:
    whole.http(http_api(body={"question": "hi", "session_id": "me@work:1"}))
    assert whole.http(http_api("GET", "/sessions/me%40work%3A1"))["statusCode"] == 200


@pytest.mark.parametrize(
    "change",
    [
        {"headers": None},
        {"headers": {"Origin": None}},
        {"headers": []},
        {"rawPath": None},
        {"rawPath": 5},
        {"routeKey": None},
        {"isBase64Encoded": None},
    ],
    ids=repr,
)
def test_a_gateway_that_leaves_things_out_is_understood(whole: Whole, change: dict[str, Any]) -> None:
    response = whole.http({**http_api(body={"question": "hi"}), **change})
    assert response["statusCode"] in (200, 404)


@pytest.mark.parametrize("epoch", [10**400, -(10**400), 1e308, "soon", True, None, [], -1], ids=lambda e: repr(e)[:10])
@every_gateway
def test_a_clock_of_the_gateway_that_is_none_is_left_aside(whole: Whole, event: Maker, epoch: Any) -> None:
    assert whole.http(event(body={"question": "hi"}, timeEpoch=epoch, requestTimeEpoch=epoch))["statusCode"] == 200
