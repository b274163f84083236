"""Where answers stream: which events do, what comes in which order, and what an error looks like before and after the start."""

import json
import threading
from typing import Any

import pytest

from agent.edge.streams import wants_events
from agent.errors import ModelError, ModelThrottledError
from tests.agent.edge.gateway_events import function_url, http_api, rest_api
from tests.agent.edge.stage import stage
from tests.fakes import asks, reply, use

ACCEPTS = {"accept": "text/event-stream"}
QUESTION = {"question": "hi", "session_id": "s", "request_id": "r"}


@pytest.mark.parametrize(
    "accept",
    [
        "text/event-stream",
        "application/json, text/event-stream",
        "text/event-stream;q=0.1, application/json;q=1",
        "TEXT/Event-Stream ; charset=utf-8",
        "*/*, text/event-stream; q=0.001",
        "text/event-stream;q=0,text/event-stream",
    ],
)
def test_who_names_event_streams_gets_one(accept: str) -> None:
    assert wants_events(accept)


@pytest.mark.parametrize(
    "accept",
    [
        *("", "*/*", "text/*", "application/json", "text/event-streams", "x text/event-stream", ",;,="),
        *("text/event-stream;q=0", "text/event-stream; Q=0.000", "text/event-stream;q=-1"),
        *("text/event-stream;q=", "text/event-stream;q=high"),
    ],
)
def test_who_does_not_name_them_gets_the_plain_answer(accept: str) -> None:
    assert not wants_events(accept)


@pytest.mark.parametrize("make", [function_url, rest_api])
def test_a_question_is_answered_by_events_where_they_are_accepted(make: Any) -> None:
    with stage(asks("I look.", use("t", "echo", {"text": "x"})), reply("It is x.")) as scene:
        sent = scene.send(make(body=QUESTION, headers=ACCEPTS))
    assert (sent.returned, sent.raised) == (None, None)
    assert sent.outcome == (b"".join(sent.chunks).decode(), True)
    assert sent.prelude["statusCode"] == 200
    assert sent.prelude["headers"]["content-type"] == "text/event-stream"
    assert "no-store" in sent.prelude["headers"]["cache-control"]
    assert sent.names == ["start", "text", "tool_use", "tool_result", "text", "answer"]
    assert sent.events[0] == ("start", {"session_id": "s", "request_id": "r", "turn": 1})
    assert "".join(data["text"] for name, data in sent.events if name == "text" and data["step"] == 2) == "It is x."
    answer = sent.events[-1][1]
    assert (answer["answer"], answer["turn"], answer["steps"]) == ("It is x.", 1, 2)
    [turn] = scene.store.turns("anonymous#s")
    assert turn.response == answer
    assert scene.journal.first_texts[0] >= 0


def test_the_events_arrive_while_the_turn_runs() -> None:
    came: list[bytes] = []
    has_result = threading.Event()

    def take(chunk: bytes) -> None:
        came.append(chunk)
        if b"tool_result" in chunk:
            has_result.set()

    def second(request: Any, deadline: Any) -> Any:
        assert has_result.wait(10)
        assert b"event: answer" not in b"".join(came)
        return reply("Done.")

    with stage(asks(use("t", "echo")), second) as scene:
        sent = scene.send(function_url(body=QUESTION, headers=ACCEPTS), on_chunk=take)
    assert sent.names[-1] == "answer"


@pytest.mark.parametrize("make", [function_url, rest_api])
@pytest.mark.parametrize(
    ("event", "status"),
    [
        (("POST", "/chat", QUESTION), 200),
        (("POST", "/chat", {"question": ""}), 400),
        (("GET", "/health", None), 200),
        (("OPTIONS", "/chat", None), 204),
        (("GET", "/sessions/s", None), 404),
        (("GET", "/nowhere", None), 404),
        (("PUT", "/chat", QUESTION), 405),
        (("POST", "/chat", "no JSON"), 400),
    ],
)
def test_every_answer_goes_out_in_streaming_mode_with_its_status(make: Any, event: Any, status: int) -> None:
    with stage(reply("Fine.")) as scene:
        sent = scene.send(make(*event))
        plain = scene.function.answer(http_api(*event, headers={"origin": "x"}), None)[0]
    assert sent.returned is None
    assert sent.outcome is not None
    assert sent.outcome[1]
    assert sent.prelude["statusCode"] == status
    assert isinstance(plain, dict)
    assert set(sent.prelude["headers"]) == set(plain["headers"])
    if status == 204:
        assert sent.body == b""
    else:
        assert sent.prelude["headers"]["content-type"] == "application/json; charset=utf-8"
        assert json.loads(sent.body)


def test_an_http_api_is_answered_buffered_whatever_it_accepts() -> None:
    with stage(reply("Fine.")) as scene:
        sent = scene.send(http_api(body=QUESTION, headers=ACCEPTS))
    assert sent.outcome is None
    assert json.loads(sent.returned["body"])["answer"] == "Fine."


@pytest.mark.parametrize("path", ["/sessions/s", "/health"])
def test_only_questions_and_yeses_are_answered_by_events(path: str) -> None:
    with stage() as scene:
        sent = scene.send(function_url("GET", path, headers=ACCEPTS))
    assert sent.prelude["headers"]["content-type"].startswith("application/json")


def test_a_direct_event_streams_where_it_asks_for_it_without_a_prelude() -> None:
    with stage(reply("Fine.")) as scene:
        sent = scene.send({**QUESTION, "stream": True})
        again = scene.send({**QUESTION, "stream": False})
    assert not sent.has_prelude
    assert sent.names == ["start", "text", "answer"]
    assert sent.returned is None
    assert again.outcome is None
    assert again.returned == sent.events[-1][1]


@pytest.mark.parametrize("stream", ["true", 1, None, [], "yes"])
def test_a_stream_that_is_no_boolean_is_refused(stream: Any) -> None:
    with stage(reply("Fine.")) as scene:
        sent = scene.send({**QUESTION, "stream": stream})
    assert sent.outcome is None
    assert sent.returned["error"]["code"] == "invalid_request"


def test_a_direct_event_that_asks_for_a_stream_is_refused_where_nothing_streams() -> None:
    with stage(reply("Fine.")) as scene:
        scene.function = type(scene.function)(scene.function.entrance, scene.failures)
        sent = scene.send({**QUESTION, "stream": True})
        plain = scene.send(function_url(body=QUESTION, headers=ACCEPTS))
    assert sent.returned["error"]["code"] == "invalid_request"
    assert "STREAMING" in sent.returned["error"]["message"]
    assert json.loads(plain.returned["body"])["answer"] == "Fine."


def test_an_error_before_the_start_has_its_usual_status_and_body() -> None:
    with stage(reply("Fine.")) as scene:
        scene.store.fails["load"].append(ModelThrottledError())
        sent = scene.send(function_url(body=QUESTION, headers=ACCEPTS))
        direct = scene.send({"question": "hi", "session_id": "no such id!", "stream": True})
        scene.store.fails["load"].append(ModelThrottledError())
        raised = scene.send({**QUESTION, "stream": True})
    assert sent.prelude["statusCode"] == 429
    assert sent.prelude["headers"]["retry-after"] == "5"
    assert json.loads(sent.body)["error"]["code"] == "model_throttled"
    assert (direct.outcome, direct.returned["error"]["code"]) == (None, "invalid_request")
    assert (raised.outcome, raised.returned) == (None, None)
    assert isinstance(raised.raised, ModelThrottledError)


@pytest.mark.parametrize("event", [function_url(body=QUESTION, headers=ACCEPTS), {**QUESTION, "stream": True}])
def test_an_error_after_the_start_is_an_event_and_the_stream_ends_well(event: Any) -> None:
    with stage(ModelError()) as scene:
        sent = scene.send(event, request_id="the-invocation")
    assert sent.names == ["start", "error"]
    assert sent.events[-1][1] == {
        "error": {"code": "model_error", "message": ModelError.default},
        "request_id": "the-invocation",
    }
    assert (sent.returned, sent.raised) == (None, None)
    assert sent.outcome
    assert sent.outcome[1]
    assert (scene.failures.codes, scene.failures.raised) == (["model_error"], [False])
    assert scene.store.turns("anonymous#s") == scene.store.turns("s") == []


@pytest.mark.parametrize("event", [function_url(body=QUESTION, headers=ACCEPTS), {**QUESTION, "stream": True}])
def test_a_repeated_request_gets_the_start_and_the_answer_of_the_first(event: Any) -> None:
    with stage(reply("Fine.")) as scene:
        first, second = scene.send(event), scene.send(event)
    assert second.events == [first.events[0], first.events[-1]]


def test_a_bug_after_the_start_is_an_error_event() -> None:
    with stage(RuntimeError("secret")) as scene:
        sent = scene.send(function_url(body=QUESTION, headers=ACCEPTS))
    assert sent.events[-1][0] == "error"
    assert sent.events[-1][1]["error"]["code"] == "internal"
    assert b"secret" not in sent.body


def test_a_browser_of_an_allowed_origin_may_read_the_stream() -> None:
    with stage(reply("Fine."), CORS_ORIGINS="https://a.example") as scene:
        sent = scene.send(rest_api(body=QUESTION, headers={**ACCEPTS, "Origin": "https://a.example"}))
    assert sent.prelude["headers"]["access-control-allow-origin"] == "https://a.example"


def test_a_stream_outside_lambda_is_the_plain_answer() -> None:
    with stage(reply("Fine."), broken="nowhere") as scene:
        sent = scene.send(function_url(body=QUESTION, headers=ACCEPTS))
    assert sent.outcome is None
    assert json.loads(sent.returned["body"])["answer"] == "Fine."


@pytest.mark.parametrize("text", ["a\nb\r\nc", "a\u2028b\u0085c", "data: x\n\nevent: y\n\n", "\ud83d", "日本語\0"])
def test_whatever_a_model_writes_is_one_line_of_data(text: str) -> None:
    with stage(reply(text)) as scene:
        sent = scene.send(function_url(body=QUESTION, headers=ACCEPTS))
    answer = sent.events[-1][1]["answer"]
    assert "".join(data["text"] for name, data in sent.events if name == "text") == answer


@pytest.mark.parametrize("over_http", [True, False])
def test_a_yes_streams_what_comes_of_it(over_http: bool) -> None:
    with stage(asks("Let me.", use("t", "refund", {"order": "7"})), reply("It is refunded.")) as scene:
        if over_http:
            asked = scene.send(function_url(body=QUESTION, headers=ACCEPTS))
        else:
            asked = scene.send({**QUESTION, "stream": True})
        assert asked.names == ["start", "text", "answer"]
        [waits] = asked.events[-1][1]["approvals"]
        yes = {"approvals": {waits["approval_id"]: True}}
        make = function_url("POST", "/sessions/s/approvals", yes, headers=ACCEPTS)
        event = make if over_http else {**yes, "session_id": "s", "stream": True}
        sent, again = scene.send(event), scene.send(event)
    assert sent.names == ["start", "tool_use", "tool_result", "text", "answer"]
    assert sent.events[0] == asked.events[0]
    assert sent.events[1] == ("tool_use", {"step": 1, "tool_use_id": "t", "name": "refund"})
    assert sent.events[-1][1]["answer"] == "It is refunded."
    assert again.events == [sent.events[0], sent.events[-1]]


def test_a_yes_to_a_part_begins_like_its_turn_and_tells_what_is_left() -> None:
    both = asks(use("t1", "refund", {"order": "7"}), use("t2", "refund", {"order": "8"}))
    with stage(both) as scene:
        asked = scene.send({**QUESTION, "stream": True})
        first, second = asked.events[-1][1]["approvals"]
        sent = scene.send({"session_id": "s", "approvals": {first["approval_id"]: True}, "stream": True})
    assert sent.names == ["start", "answer"]
    assert sent.events[0] == asked.events[0]
    assert sent.events[-1][1]["approvals"] == [second]


def test_a_yes_that_is_none_has_its_usual_status() -> None:
    with stage() as scene:
        event = function_url("POST", "/sessions/s/approvals", {"approvals": {"0" * 32: True}}, headers=ACCEPTS)
        sent = scene.send(event)
    assert sent.prelude["statusCode"] == 404
    assert json.loads(sent.body)["error"]["code"] == "not_found"
