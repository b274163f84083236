"""Browsers: preflights, and headers that let a page read answers and errors alike."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.agent.edge.gateway_events import Maker, function_url, http_api, rest_api
from tests.agent.edge.whole_function import Whole, function_at, running

ORIGIN = "https://app.example"


@pytest.fixture(scope="module")
def one_function() -> Iterator[Whole]:
    """A function that pages of one origin may call."""
    with running(CORS_ORIGINS=f"{ORIGIN}, https://other.example") as whole:
        yield whole


def headers_of(whole: Whole, event: dict[str, Any]) -> dict[str, str]:
    response, error = whole.ask(event)
    assert error is None
    return dict(response["headers"])


@pytest.mark.parametrize("event", [rest_api, http_api])
@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/chat", {"question": "hi"}, 200),
        ("POST", "/chat", "no json", 400),
        ("POST", "/chats", None, 404),
        ("PUT", "/chat", None, 405),
        ("GET", "/sessions/none", None, 404),
        ("DELETE", "/sessions/none", None, 204),
        ("GET", "/health", None, 200),
    ],
)
def test_a_page_reads_every_answer(whole: Whole, event: Maker, method: str, path: str, body: Any, status: int) -> None:
    response, _ = whole.ask(event(method, path, body, headers={"Origin": ORIGIN}))
    assert response["statusCode"] == status
    assert response["headers"]["access-control-allow-origin"] == ORIGIN
    assert "origin" in response["headers"]["vary"].lower()


@pytest.mark.parametrize("method", ["GET", "OPTIONS", "POST"])
def test_a_function_url_answers_browsers_by_itself_so_that_no_header_comes_twice(whole: Whole, method: str) -> None:
    headers = headers_of(whole, function_url(method, "/chat", {}, headers={"origin": ORIGIN}))
    assert not [name for name in headers if name.startswith("access-control") or name == "vary"]


@pytest.mark.parametrize("event", [rest_api, http_api])
def test_a_preflight_tells_methods_and_headers(whole: Whole, event: Maker) -> None:
    headers = headers_of(whole, event("OPTIONS", "/chat", headers={"origin": ORIGIN}))
    assert headers["access-control-allow-origin"] == ORIGIN
    assert {"GET", "POST", "DELETE"} <= set(headers["access-control-allow-methods"].replace(" ", "").split(","))
    assert {"content-type", "authorization"} <= set(headers["access-control-allow-headers"].replace(" ", "").split(","))
    assert not whole.requests


@pytest.mark.parametrize("origin", ["https://evil.example", "https://app.example.evil.example", "null", ""])
def test_another_origin_gets_no_leave(whole: Whole, origin: str) -> None:
    for event in (rest_api("OPTIONS", headers={"origin": origin}), rest_api(headers={"origin": origin})):
        assert "access-control-allow-origin" not in headers_of(whole, event)


def test_an_internal_failure_is_readable_too(whole: Whole) -> None:
    whole.play({"error": "AccessDeniedException"})
    response, _ = whole.ask(rest_api(body={"question": "hi"}, headers={"origin": ORIGIN}))
    assert response["statusCode"] == 500
    assert response["headers"]["access-control-allow-origin"] == ORIGIN


@pytest.mark.parametrize("wrong", [{"TOOLS": "none"}, {"MAX_STEPS": "none"}], ids=["a tool", "a setting"])
def test_what_is_set_up_wrongly_is_readable_too(whole: Whole, wrong: dict[str, str]) -> None:
    function = function_at(whole.server, CORS_ORIGINS=ORIGIN, **wrong)
    response, _ = function.answer(rest_api(body={"question": "hi"}, headers={"origin": ORIGIN}), None)
    assert response is not None
    assert (response["statusCode"], response["headers"]["access-control-allow-origin"]) == (500, ORIGIN)


def test_retry_after_may_be_read_by_a_page(whole: Whole) -> None:
    whole.play({"error": "ServiceQuotaExceededException"})
    headers = headers_of(whole, rest_api(body={"question": "hi"}, headers={"origin": ORIGIN}))
    assert "retry-after" in headers
    assert "retry-after" in headers["access-control-expose-headers"].lower()


def test_all_origins_may_be_let_in(whole: Whole) -> None:
    open_to_all = function_at(whole.server, CORS_ORIGINS="*")
    response, _ = open_to_all.answer(rest_api("GET", "/health", headers={"origin": "https://any.example"}), None)
    assert response is not None
    assert response["headers"]["access-control-allow-origin"] == "*"


def test_without_the_setting_there_are_no_such_headers(whole: Whole) -> None:
    closed = function_at(whole.server)
    response, _ = closed.answer(rest_api("GET", "/health", headers={"origin": ORIGIN}), None)
    assert response is not None
    assert not [name for name in response["headers"] if name.startswith("access-control")]
