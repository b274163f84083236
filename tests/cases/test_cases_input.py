"""Sizes and shapes that nobody should send: bounded wherever they come in, directly and over HTTP, from callers and models."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest

from agent.errors import AgentError
from agent.tooling.tool import tool
from local.bedrock.reply import Reply, text_reply
from tests.agent.edge.gateway_events import http_api, rest_api
from tests.agent.edge.whole_function import Whole, unique
from tests.cases.functions import offering
from tests.fakes import FakeContext, use

pytestmark = pytest.mark.slow

MILLION = "日" * 1_000_000


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("event", "code"),
    [
        ({"question": MILLION}, "payload_too_large"),
        ({"question": "hi", "session_id": MILLION}, "invalid_request"),
        ({"question": "hi", "request_id": MILLION}, "invalid_request"),
        ({"question": 10**5_000}, "invalid_request"),
        ({"question": "hi", "session_id": 10**5_000}, "invalid_request"),
        ({"question": float("nan")}, "invalid_request"),
        ({"question": "hi", "session_id": float("nan")}, "invalid_request"),
        ({"question": nested(10_000)}, "invalid_request"),
        ({"question": "\x00\x1f" * 60_000}, "payload_too_large"),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_a_direct_event_beyond_all_bounds_is_refused_without_being_repeated(
    whole: Whole, event: dict[str, Any], code: str
) -> None:
    answer, error = whole.ask(event)
    assert error is None
    assert answer["error"]["code"] == code
    assert len(json.dumps(answer, ensure_ascii=False)) < 1_000
    assert not whole.requests


@pytest.mark.parametrize("event", [http_api, rest_api], ids=lambda maker: maker.__name__)
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (json.dumps({"question": MILLION}, ensure_ascii=False), 413),
        (json.dumps({"question": "日" * 300_000}, ensure_ascii=False), 413),
        (json.dumps({"question": "hi", "session_id": MILLION[:300_000]}, ensure_ascii=False), 400),
        ('{"question": "hi", "x": ' + "9" * 5_000 + "}", 400),
        ('{"question": "hi", "x": ' + "[" * 10_000 + "]" * 10_000 + "}", 400),
        ('{"question": "hi", "x": 1e999}', 200),
        ('{"question": "hi \\ud83d", "x": "\\udc00"}', 200),
        ('{"question": "hi", "question": "again"}', 200),
    ],
    ids=lambda value: str(value)[-25:],
)
def test_a_body_beyond_all_bounds_has_a_short_answer(whole: Whole, event: Any, body: str, status: int) -> None:
    response = whole.http(event(body=body))
    assert response["statusCode"] == status
    assert len(response["body"]) < 1_000


def test_an_event_of_half_a_surrogate_pair_is_asked_kept_and_read(whole: Whole) -> None:
    session = unique()
    whole.direct("half \ud83d of it", session_id=session)
    response = whole.http(http_api(body={"question": "hi", "session_id": session}, headers={"x": "\ud83d"}))
    assert response["statusCode"] == 200
    assert whole.requests[0].body["messages"][0]["content"] == [{"text": "half \ufffd of it"}]
    assert whole.direct("next", session_id=session)["turn"] == 2


@pytest.mark.parametrize("path", ["/sessions/\ud83d", f"/sessions/{MILLION}", "/\ud83d" * 1_000, "/" * 10_000])
def test_a_path_beyond_all_bounds_has_a_short_answer(whole: Whole, path: str) -> None:
    response = whole.http(http_api("GET", path))
    assert response["statusCode"] in (400, 404)
    assert len(response["body"].encode()) < 1_000


LARGE: dict[str, list[Any]] = {
    "a tool input of a million": [use("t1", "say", {"text": MILLION})],
    "ten tool inputs of a million characters together": [
        use(f"t{n}", "say", {"text": MILLION[:100_000]}) for n in range(10)
    ],
    "a tool name of a million": [use("t1", MILLION, {})],
    "an id of a million": [use(MILLION, "say", {"text": "a"})],
    "a key of a million": [use("t1", "say", {MILLION: 1})],
    "a text of a million beside a use": [{"text": MILLION}, use("t1", "say", {"text": "a"})],
    "input nested 500 deep": [use("t1", "say", nested(500))],
}


@pytest.mark.parametrize("name", LARGE)
def test_what_a_model_sends_beyond_all_bounds_is_answered_kept_and_gone_on_from(whole: Whole, name: str) -> None:
    @tool
    def say(text: Annotated[str, "what to say"]) -> str:
        """Say it."""
        return text

    session = unique()
    with offering(whole, say):
        whole.play(Reply(LARGE[name], "tool_use"), text_reply("done"), text_reply("later"))
        first = whole.direct(session_id=session)
        results = whole.requests[-1].body["messages"][-1]["content"]
        second = whole.direct("next", session_id=session)
    assert (first["answer"], second["answer"], second["turn"]) == ("done", "later", 2)
    assert "saved" not in first
    assert all(len(json.dumps(result, ensure_ascii=False)) < 25_000 for result in results)
    assert all(len(each["name"]) <= 64 for each in first["tool_uses"])
    assert sum(len(json.dumps(item)) for item in whole.items(session)) < 2_000_000


def test_a_history_of_the_largest_turns_stays_within_what_the_service_takes(whole: Whole) -> None:
    session = unique()
    whole.answer_with(lambda model_id, request: text_reply("答" * 150_000))
    for number in range(12):
        answer = whole.direct("問" * 100_000, session_id=session)
        assert (answer["turn"], "saved" in answer) == (number + 1, False)
    assert len(json.dumps(whole.requests[-1].body, ensure_ascii=False).encode()) < 20_000_000
    response = whole.http(http_api("GET", f"/sessions/{session}"))
    assert len(json.dumps(response, ensure_ascii=False).encode()) < 6 * 1024 * 1024


def test_thirty_two_sessions_at_once_share_one_function(whole: Whole) -> None:
    together = threading.Barrier(32, timeout=30)

    @tool
    def meet() -> str:
        """Meet."""
        together.wait()
        return "met"

    def model(model_id: str, request: dict[str, Any]) -> Reply:
        asked = "toolResult" not in json.dumps(request["messages"][-1])
        return Reply([use("t1", "meet")], "tool_use") if asked else text_reply("done")

    def ask(number: int) -> Any:
        return whole.ask({"question": "meet", "session_id": f"{session}-{number}"}, FakeContext(unique("invocation")))

    session = unique()
    with offering(whole, meet), ThreadPoolExecutor(32) as pool:
        whole.answer_with(model)
        answers = list(pool.map(ask, range(32)))
    assert [(answer["answer"], answer["tool_uses"][0]["status"]) for answer, _ in answers] == [("done", "success")] * 32


def test_of_twenty_requests_at_one_session_one_runs_at_a_time_and_none_is_lost(whole: Whole) -> None:
    session, running, most = unique(), [], []
    lock = threading.Lock()

    def model(model_id: str, request: dict[str, Any]) -> Reply:
        with lock:
            running.append(1)
            most.append(len(running))
        reply = text_reply("Fine.")
        with lock:
            running.pop()
        return reply

    def ask(number: int) -> tuple[Any, AgentError | None]:
        return whole.ask({"question": f"q{number}", "session_id": session}, FakeContext(unique("invocation")))

    with ThreadPoolExecutor(20) as pool:
        whole.answer_with(model)
        outcomes = list(pool.map(ask, range(20)))
    answered = sorted(answer["turn"] for answer, error in outcomes if error is None)
    assert answered == list(range(1, len(answered) + 1))
    assert answered
    assert {error.code for _, error in outcomes if error} <= {"session_busy"}
    assert all(error.retry_after for _, error in outcomes if error)
    assert max(most) == 1
    assert len(whole.items(session)) == min(len(answered), 10)
