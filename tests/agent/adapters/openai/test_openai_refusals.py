"""What an endpoint refuses is raised as ours, sent again where that can help, and told without what users said."""

import pytest

from agent.deadline import Deadline
from agent.errors import (
    AgentError,
    MisconfiguredError,
    ModelError,
    ModelThrottledError,
    ModelUnavailableError,
    PromptTooLongError,
)
from agent.messages import Usage
from tests.agent.adapters.openai.openai_client import ask, model_of, request
from tests.agent.adapters.openai.openai_server import Answer, OpenAIServer, as_json, completion, error, stream

TOO_LONG = [
    error(400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
    error(400, "the request exceeds the available context size, try increasing it", 400),  # llama.cpp
    as_json({"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}}, 500),
    as_json({"error": {"code": 400, "message": "too many", "type": "exceed_context_size_error"}}),  # with status 200
    as_json({"object": "error", "message": "This model's maximum context length is 4096 tokens", "code": 400}, 400),
    as_json([{"error": {"code": 400, "message": "The input token count exceeds the maximum"}}], 400),  # Gemini
    as_json({"message": "Input is too long for requested model."}, 400),  # Bedrock
    Answer(b"<html>", 413, kind="text/html"),
]
MISCONFIGURED = [
    error(401, "Incorrect API key provided"),
    error(403, "You are not allowed"),
    error(403, "You are not allowed so many input tokens"),
    error(404, "The model `x` does not exist", "model_not_found"),
    as_json({"detail": "Not Found"}, 404),
    error(400, "API key not valid. Please pass a valid API key."),
    error(400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    error(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    error(402, "Insufficient Balance"),
    Answer(b"", 405),
    Answer(b"", 307, {"Location": "http://127.0.0.1:1/v1/chat/completions"}),
    Answer(b"<html>hello</html>", kind="text/html"),
]
REFUSED = [
    error(400, "Invalid type for 'messages[0].content'"),
    error(422, "no"),
    error(400, "unknown field 'max_tokens_per_word'"),
    as_json({"error": "no"}, 400),
    as_json({"detail": [{"loc": ["body", "x"], "msg": "too odd", "input": "SAID"}]}, 422),
    as_json("no", 400),
    as_json({"error": {"code": "x", "message": None}}, 400),
]
TIMED_OUT = [error(408, "timed out"), Answer(b"", 504), Answer(b"", 524, kind="text/html")]
THROTTLED = [error(429, "slow down"), as_json({"error": {"code": 429, "message": "slow down"}})]
UNAVAILABLE = [
    error(500, "The server had an error"),
    Answer(b"bad gateway", 502, kind="text/html"),
    error(503, "loading model"),
    as_json({"error": {"message": "overloaded", "code": 529}}),
    as_json({"error": "something"}),
    as_json({"choices": []}),
    as_json({"choices": None, "usage": {}}),
    as_json([]),
    as_json({}),
    Answer(b"", 200),
    Answer(b'{"choices": [{"mess', 200),
    completion("half", reason="error"),
]
FAILURES = [
    *((answer, PromptTooLongError, 1) for answer in TOO_LONG),
    *((answer, MisconfiguredError, 1) for answer in MISCONFIGURED),
    *((answer, ModelError, 1) for answer in REFUSED),
    *((answer, ModelUnavailableError, 1) for answer in TIMED_OUT),
    (error(429, "You exceeded your current quota", "insufficient_quota"), ModelThrottledError, 1),
    *((answer, ModelThrottledError, 3) for answer in THROTTLED),
    *((answer, ModelUnavailableError, 3) for answer in UNAVAILABLE),
]


@pytest.mark.parametrize(("answer", "raised", "times"), FAILURES)
def test_every_refusal_is_raised_as_ours_and_sent_again_where_that_can_help(
    answer: Answer, raised: type[AgentError], times: int
) -> None:
    waits: list[float] = []
    with OpenAIServer(*[answer] * 3) as server, pytest.raises(AgentError) as failed:
        ask(server, waits=waits)
    assert type(failed.value) is raised
    assert failed.value.detail
    assert len(server.asked) == times
    assert waits == pytest.approx([0.375, 0.75][: times - 1], rel=0.34)  # half to the whole of 0.5 and 1.0


@pytest.mark.parametrize("failure", [*THROTTLED, *UNAVAILABLE])
def test_what_has_passed_is_answered(failure: Answer) -> None:
    with OpenAIServer(failure, completion("hello")) as server:
        assert ask(server).content == [{"text": "hello"}]


@pytest.mark.parametrize(
    ("headers", "waits"),
    [
        ({"Retry_After": "7"}, [7]),
        ({"Retry_After": "7", "Retry_After_Ms": "1500"}, [1.5]),
    ],
)
def test_a_pause_is_as_long_as_the_endpoint_asks(headers: dict[str, str], waits: list[float]) -> None:
    waited: list[float] = []
    with OpenAIServer(error(429, "slow down", **headers), completion("hello")) as server:
        ask(server, waits=waited)
    assert waited == waits


@pytest.mark.parametrize("after", ["0", "Wed, 21 Oct 2026 07:28:00 GMT", "-3", "1e999", "x"])
def test_a_pause_that_is_not_told_in_seconds_is_our_own(after: str) -> None:
    waits: list[float] = []
    with OpenAIServer(error(429, "slow down", Retry_After=after), completion("hello")) as server:
        ask(server, waits=waits)
    assert waits == pytest.approx([0.375], rel=0.34)


@pytest.mark.parametrize(("after", "seconds"), [("7", 5.0), ("600", 900.0)])
def test_a_pause_beyond_the_time_or_our_patience_is_not_made(after: str, seconds: float) -> None:
    waits: list[float] = []
    with OpenAIServer(error(429, "slow down", Retry_After=after)) as server, pytest.raises(ModelThrottledError):
        ask(server, waits=waits, seconds=seconds)
    assert waits == []


def test_a_prompt_that_a_content_filter_stops_is_a_blocked_turn() -> None:
    with OpenAIServer(error(400, "The response was filtered", "content_filter", "prompt")) as server:
        reply = ask(server)
    assert (reply.content, reply.stop_reason) == ([], "guardrail_intervened")


def test_a_model_that_refuses_max_tokens_gets_the_newer_name_from_then_on() -> None:
    with OpenAIServer(completion("a"), completion("b"), newer=True) as server:
        model = model_of(server)
        for _ in range(2):
            model.converse(request(), Deadline.after(20))
    limits = [{k: v for k, v in asked.body.items() if k.startswith("max_")} for asked in server.asked]
    assert limits == [{"max_tokens": 64}, {"max_completion_tokens": 64}, {"max_completion_tokens": 64}]


def test_a_limit_that_is_too_large_is_not_sent_under_another_name() -> None:
    text = "max_tokens is too large: 99999. This model supports at most 16384 completion tokens."
    with OpenAIServer(error(400, text, "invalid_value", "max_tokens")) as server, pytest.raises(ModelError) as failed:
        ask(server)
    assert len(server.asked) == 1
    assert "too large" in failed.value.detail


def test_a_model_that_takes_neither_name_is_told_as_it_is() -> None:
    refusals = [error(400, f"Unsupported parameter: '{name}'") for name in ("max_tokens", "max_completion_tokens")]
    with OpenAIServer(*refusals) as server, pytest.raises(ModelError):
        ask(server)
    assert len(server.asked) == 2


def test_details_hold_neither_the_key_nor_what_a_validator_echoes() -> None:
    texts = ["invalid key sk-secret", "[{'msg': 'wrong', 'input': 'SAID'}]", "wrong [input_value='SAID'] " + "x" * 999]
    refusals = [error(401, texts[0]), *(error(400, text) for text in texts), REFUSED[3]]
    for refused in refusals:
        with OpenAIServer(refused, refused) as server, pytest.raises(AgentError) as failed:
            ask(server, key=lambda: "sk-secret")
        assert "sk-secret" not in failed.value.detail + str(failed.value.__cause__)
        assert "SAID" not in failed.value.detail + str(failed.value.__cause__)
        assert len(failed.value.detail) < 500


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer(b"Internal Server Error", 500, kind="text/plain"), "500 Internal Server Error"),
        (Answer(b"<html><h1>Bad gateway</h1></html>", 502, kind="text/html"), "502 Bad gateway"),
        (error(400, "x" * 2000 + " the reason", 400), " the reason"),
        (as_json({"error": {"code": 401, "message": "no"}}, 401), "401 no"),
    ],
)
def test_the_log_has_the_reason_wherever_it_stands_and_a_status_once(answer: Answer, told: str) -> None:
    with OpenAIServer(*[answer] * 3) as server, pytest.raises(AgentError) as failed:
        ask(server, waits=[])
    assert told in failed.value.detail
    assert not failed.value.detail.startswith(("400 400", "401 401"))


def test_a_conflict_is_tried_again() -> None:
    with OpenAIServer(error(409, "Conflict"), completion("hello")) as server:
        assert ask(server, waits=[]).content == [{"text": "hello"}]


@pytest.mark.parametrize(
    "failure", [{"code": "tool_use_failed", "status_code": 400}, {"type": "invalid_request_error"}]
)
def test_a_refusal_within_a_stream_is_one_of_the_form(failure: dict[str, object]) -> None:
    body = stream({"error": {"message": "Failed to call a function.", **failure}})
    with OpenAIServer(body) as server, pytest.raises(ModelError) as failed:
        ask(server)
    assert failed.value.remedies == ("tell",)
    assert len(server.asked) == 1


def test_tokens_that_were_written_into_the_cache_are_counted_apart() -> None:
    details = {"cached_tokens": 100, "cache_write_tokens": 50}
    usage = {"prompt_tokens": 160, "completion_tokens": 7, "prompt_tokens_details": details}
    with OpenAIServer(completion("a", usage=usage)) as server:
        assert ask(server).usage == Usage(10, 7, 100, 50)
