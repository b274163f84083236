"""Who may ask the page's server, and what it tells."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agent.errors import SessionBusyError
from agent.messages import assistant_text, user_text
from agent.ports import DONE, StoredTurn
from local.bedrock.server import RecordedRequest
from local.page.backends import by_turn
from local.page.site import Site
from local.page.views import session_of, sessions_view, turn_view
from local.payload import HttpRequest, HttpResponse

_HOST = "127.0.0.1:8000"


class FakeTable:
    def __init__(self) -> None:
        self.forgotten: list[str] = []

    def read(self, key: str) -> list[StoredTurn]:
        return [StoredTurn(key, 1, DONE, question="q", messages=[user_text("q"), assistant_text("a")])]

    def forget(self, key: str) -> None:
        if key == "busy":
            raise SessionBusyError
        self.forgotten.append(key)

    def waiting(self) -> list[dict[str, Any]]:
        return [{"session_id": "s", "caller": "direct", "approval_id": "a" * 32, "tool": "pay", "input": {}}]


class FakeBackend:
    def __init__(self) -> None:
        self.kept = FakeTable()
        self.asked: list[Any] = []

    def about(self) -> dict[str, Any]:
        return {"name": "agent"}

    def invoke(self, event: Any, on_chunk: Callable[[bytes], object]) -> tuple[Any, bool]:
        self.asked.append(event)
        if event.get("question") == "plain":
            return {"answer": "whole"}, True
        if event.get("question") == "bug":
            return {"errorType": "InternalError", "errorMessage": "no"}, False
        on_chunk(b"event: start\n")
        on_chunk(b"rest")
        return None, True

    @property
    def table(self) -> Any:
        return self.kept

    def turns(self) -> list[StoredTurn]:
        return [*self.kept.read("s"), StoredTurn("#tokens#direct", 20261201, "")]

    def requests(self, session_id: str) -> Mapping[int, list[Any]]:
        return {1: [{"messages": []}]}


def send(site: Site, method: str, target: str, body: object = None, **headers: str) -> HttpResponse | None:
    named = {"host": _HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    return site.answer(HttpRequest(method, target, tuple(named.items()), content, "127.0.0.1"))


def answered(site: Site, method: str, target: str, body: object = None, **headers: str) -> tuple[int, Any]:
    response = send(site, method, target, body, **headers)
    assert response is not None
    whole = response.body + b"".join(response.more or ())
    return response.status, json.loads(whole) if whole[:1] == b"{" else whole.decode()


@pytest.fixture
def site() -> Site:
    return Site(FakeBackend())


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.1", ""])
@pytest.mark.parametrize("target", ["/", "/page/about", "/chat", "/health"])
def test_a_name_that_was_made_to_lead_here_is_refused(site: Site, host: str, target: str) -> None:
    assert answered(site, "GET", target, host=host)[0] == 403


@pytest.mark.parametrize("host", [_HOST, "localhost:8000", "[::1]:8000"])
def test_the_functions_own_routes_are_left_to_it(site: Site, host: str) -> None:
    assert send(site, "POST", "/chat", {}, host=host) is None
    assert send(site, "GET", "/health", host=host, origin=f"http://{host}") is None


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://{_HOST}", "http://127.0.0.1:9000"])
@pytest.mark.parametrize(("method", "target"), [("POST", "/chat"), ("OPTIONS", "/chat"), ("POST", "/page/chat")])
def test_a_page_of_another_origin_is_refused(site: Site, origin: str, method: str, target: str) -> None:
    status, told = answered(site, method, target, {"question": "q"}, origin=origin)
    assert (status, told["error"]["code"]) == (403, "forbidden")


def test_an_origin_that_was_allowed_may_ask() -> None:
    assert (
        send(Site(FakeBackend(), origins=["https://app.example"]), "POST", "/chat", origin="https://app.example")
        is None
    )
    assert send(Site(FakeBackend(), origins=["*"]), "POST", "/chat", origin="https://app.example") is None


@pytest.mark.parametrize("target", ["/", "/page/page.js", "/page/about", "/page/sessions/s", "/chat"])
def test_nobody_is_let_in_without_the_token(target: str) -> None:
    site = Site(FakeBackend(), with_token=True)
    assert answered(site, "GET", target)[0] == 403
    assert answered(site, "GET", f"{target}?token=wrong")[0] == 403
    assert answered(site, "GET", target, cookie="agent_page=wrong")[0] == 403


def test_the_address_with_the_token_gives_a_cookie_that_lets_in() -> None:
    site = Site(FakeBackend(), with_token=True)
    response = send(site, "GET", f"/?token={site.token}")
    assert response
    headers = dict(response.headers)
    assert (response.status, headers["location"]) == (303, "/")
    assert {"HttpOnly", "SameSite=Strict"} <= set(headers["set-cookie"].split("; "))
    cookie = headers["set-cookie"].partition(";")[0]
    assert answered(site, "GET", "/page/about", cookie=f"other=1; {cookie}") == (200, {"name": "agent"})


def test_the_page_may_load_nothing_from_elsewhere_and_run_nothing_inline(site: Site) -> None:
    response = send(site, "GET", "/")
    assert response
    policy = dict(response.headers)["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert not {"unsafe", "http", "data:", "*"} & {word for word in ("unsafe", "http", "data:", "*") if word in policy}
    page = response.body.decode()
    assert "://" not in page
    assert "style=" not in page
    assert not [line for line in page.splitlines() if "<script" in line and "src=" not in line]


def test_the_page_weighs_under_100_kilobytes(site: Site) -> None:
    sizes = [len(found.body) for path in ("/", "/page/page.js", "/page/page.css") if (found := send(site, "GET", path))]
    assert len(sizes) == 3
    assert sum(sizes) < 100_000


def test_a_question_is_asked_directly_and_its_events_are_handed_on(site: Site) -> None:
    status, told = answered(
        site, "POST", "/page/chat", {"question": "q", "session_id": "s", "caller": "x", "stream": 5}
    )
    assert (status, told) == (200, "event: start\nrest")
    backend = site._backend
    assert isinstance(backend, FakeBackend)
    assert backend.asked == [{"question": "q", "session_id": "s", "stream": True}]


def test_an_answer_that_did_not_stream_is_whole_and_a_failure_is_told(site: Site) -> None:
    assert answered(site, "POST", "/page/chat", {"question": "plain"}) == (200, {"answer": "whole"})
    failed = {"error": {"code": "InternalError", "message": "no"}}
    assert answered(site, "POST", "/page/chat", {"question": "bug"}) == (502, failed)


def test_a_decision_names_session_caller_and_what_was_said(site: Site) -> None:
    said = {"session_id": "s", "caller": "direct", "approvals": {"a" * 32: {"approved": False, "reason": "no"}}}
    answered(site, "POST", "/page/approvals", said)
    backend = site._backend
    assert isinstance(backend, FakeBackend)
    assert backend.asked == [{**said, "stream": True}]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"5", b'"q"', b"\xff", b"null", b"[" * 100_000])
def test_a_body_of_a_wrong_shape_is_told(site: Site, body: bytes) -> None:
    status, told = answered(site, "POST", "/page/chat", body)
    assert (status, told["error"]["code"]) == (400, "invalid_request")


def test_a_session_is_shown_with_its_steps_what_was_sent_and_what_waits(site: Site) -> None:
    status, told = answered(site, "GET", "/page/sessions/s")
    assert status == 200
    [turn] = told["turns"]
    assert turn["steps_taken"] == [{"title": "answer", "said": "a", "uses": []}]
    assert turn["requests"] == [{"messages": []}]
    assert [entry["tool"] for entry in turn["approvals"]] == ["pay"]


def test_a_session_is_forgotten_under_its_callers_key_and_not_while_it_runs(site: Site) -> None:
    assert answered(site, "DELETE", "/page/sessions/a%40b?caller=" + "f" * 32)[0] == 204
    backend = site._backend
    assert isinstance(backend, FakeBackend)
    assert backend.kept.forgotten == ["f" * 32 + "#a@b"]
    assert answered(site, "DELETE", "/page/sessions/busy")[0] == 409


def test_what_is_not_there_is_told(site: Site) -> None:
    assert answered(site, "GET", "/page/nothing")[0] == 404
    assert answered(site, "PUT", "/page/about")[0] == 404


def test_counted_tokens_are_no_session(site: Site) -> None:
    status, told = answered(site, "GET", "/page/sessions")
    assert (status, [line["session_id"] for line in told["sessions"]]) == (200, ["s"])


@pytest.mark.parametrize(
    ("key", "told"), [("s", ("s", "direct")), ("anonymous#s", ("s", "anonymous")), ("ab#s:1", ("s:1", "ab"))]
)
def test_a_key_is_a_callers_session(key: str, told: tuple[str, str]) -> None:
    assert session_of(key) == told
    [line] = sessions_view([StoredTurn(key, 1, DONE)])
    assert (line["session_id"], line["caller"]) == told


def test_tool_uses_have_their_results_and_times() -> None:
    use = {"toolUse": {"toolUseId": "t1", "name": "add", "input": {"a": 1}}}
    result = {"toolResult": {"toolUseId": "t1", "status": "error", "content": [{"text": "no"}]}}
    messages: list[Any] = [
        user_text("q"),
        {"role": "assistant", "content": [{"text": "I add."}, use]},
        {"role": "user", "content": [result]},
        assistant_text("It failed."),
    ]
    response = {"answer": "It failed.", "tool_uses": [{"name": "add", "status": "error", "milliseconds": 7}]}
    told = turn_view(StoredTurn("s", 1, DONE, messages=messages, response=response))
    first, last = told["steps_taken"]
    assert first["said"] == "I add."
    [shown] = first["uses"]
    assert shown == {"id": "t1", "tool": "add", "input": {"a": 1}, "status": "error", "result": "no", "milliseconds": 7}
    assert last["title"] == "answer"


def test_requests_are_told_apart_by_the_turn_that_they_name() -> None:
    def sent(**about: str) -> RecordedRequest:
        return RecordedRequest("m", {"requestMetadata": about} if about else {}, [], False)

    requests = [sent(session="s", turn="1"), sent(session="s", turn="2"), sent(session="t", turn="1"), sent()]
    assert {turn: len(found) for turn, found in by_turn(requests, "s").items()} == {1: 1, 2: 1}
