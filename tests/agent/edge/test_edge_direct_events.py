"""Direct invocations: the console's test events, warm-up pings, what is returned and what is raised."""

import json
import traceback
from typing import Any

import pytest

import handler
from agent.errors import AgentError, ModelUnavailableError
from handler import start
from local.bedrock.reply import Reply, text_reply
from tests.agent.edge.whole_function import Whole, unique
from tests.fakes import FakeContext

SINE = {"tool_use": {"name": "sine", "input": {"x": 1}}}


def refused(whole: Whole, event: object) -> dict[str, Any]:
    """The error that is returned for an event, which reaches no model."""
    answer, error = whole.ask(event)
    assert error is None
    assert not whole.requests
    assert set(answer) == {"error", "request_id"}
    assert set(answer["error"]) == {"code", "message"}
    return dict(answer["error"])


def test_an_answer_has_what_the_contract_names(whole: Whole) -> None:
    whole.play(SINE, {"text": "0.84です"})
    session = unique()
    answer, error = whole.ask({"question": "1のサインは？", "session_id": session, "unknown": {"a": 1}})
    assert error is None
    assert json.loads(json.dumps(answer)) == answer
    assert set(answer) == {
        "answer",
        "session_id",
        "turn",
        "stop_reason",
        "steps",
        "model_id",
        "usage",
        "tool_uses",
    }
    assert (answer["answer"], answer["session_id"], answer["turn"]) == ("0.84です", session, 1)
    assert (answer["stop_reason"], answer["steps"]) == ("end_turn", 2)
    assert [(use["name"], use["status"]) for use in answer["tool_uses"]] == [("sine", "success")]
    assert all(type(use["milliseconds"]) is int for use in answer["tool_uses"])
    tokens = {"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_write_input_tokens"}
    assert set(answer["usage"]) == tokens
    assert all(type(count) is int for count in answer["usage"].values())


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"key1": "value1", "key2": "value2", "key3": "value3"},
        {"prompt": "hi"},
        {"body": {"question": "hi"}},
        {"question": None},
        {"question": ""},
        {"question": " \n\t"},
        {"question": "\u3000"},
        {"question": 5},
        {"question": ["hi"]},
        {"question": {"text": "hi"}},
        {"question": True},
        {"question": "hi", "session_id": ""},
        {"question": "hi", "session_id": 123},
        {"question": "hi", "session_id": "k" * 3_000},
        {"question": "hi", "session_id": "a#b"},
        {"question": "hi", "session_id": "anonymous#b"},
        {"question": "hi", "request_id": "🌞"},
        {"question": "hi", "request_id": []},
        {"Records": [{"eventSource": "aws:sqs", "body": "hi"}]},
        {"requestContext": None, "question": None},
        {"httpMethod": None},
        None,
        [],
        "question",
        5,
        True,
    ],
    ids=lambda event: repr(event)[:40],
)
def test_what_is_not_our_event_is_told_in_words(whole: Whole, event: object) -> None:
    error = refused(whole, event)
    assert error["code"] == "invalid_request"
    assert error["message"].strip()


def test_the_consoles_own_template_is_told_what_to_send(whole: Whole) -> None:
    assert '{"question"' in refused(whole, {"key1": "value1"})["message"]


def test_a_question_that_is_too_long_is_returned_not_raised(whole: Whole) -> None:
    assert refused(whole, {"question": "日" * 100_001})["code"] == "payload_too_large"


def test_null_ids_count_as_left_out(whole: Whole) -> None:
    answer = whole.direct(session_id=None, request_id=None)
    assert answer["session_id"]


def test_a_yes_with_a_question_that_is_null_is_a_yes(whole: Whole) -> None:
    yes = {"question": None, "session_id": unique(), "approvals": {"a" * 32: True}}
    assert refused(whole, yes)["code"] == "not_found"


@pytest.mark.parametrize(
    "event", [{"source": "aws.events", "detail": {}}, {"warmer": True}], ids=["schedule", "warmer"]
)
def test_a_warm_up_ping_asks_no_model(whole: Whole, event: dict[str, Any]) -> None:
    answer, error = whole.ask(event)
    assert error is None
    assert json.dumps(answer)
    assert not whole.requests


@pytest.mark.parametrize("more", [{"source": "aws.events"}, {"warmer": True}], ids=["schedule", "warmer"])
def test_a_question_is_answered_whatever_stands_beside_it(whole: Whole, more: dict[str, Any]) -> None:
    answer, error = whole.ask({"question": "hi", **more})
    assert error is None
    assert answer["answer"] == "Fine."


def test_a_warm_up_ping_needs_no_settings() -> None:
    assert start({}).answer({"warmer": True}, None)[1] is None


def test_a_made_up_session_is_found_again_by_a_retry(whole: Whole) -> None:
    context = FakeContext(unique("invocation"))
    first = whole.direct("hi", context=context)
    again = whole.direct("hi", context=context)
    assert again == first
    assert len(whole.requests) == 1
    assert len(whole.items(first["session_id"])) == 1
    assert whole.direct("hi")["session_id"] != first["session_id"]


def test_a_made_up_session_follows_the_clients_request_id(whole: Whole) -> None:
    request = unique("r")
    assert whole.direct(request_id=request) == whole.direct(request_id=request)
    assert len(whole.requests) == 1


def test_a_repeated_request_is_answered_once_among_later_turns(whole: Whole) -> None:
    session, request = unique(), unique("r")
    whole.play({"text": "one"}, {"text": "two"})
    first = whole.direct("a", session_id=session, request_id=request)
    whole.direct("b", session_id=session)
    assert whole.direct("a", session_id=session, request_id=request) == first
    assert len(whole.requests) == 2


def test_a_request_id_with_another_question_is_invalid(whole: Whole) -> None:
    session, request = unique(), unique("r")
    whole.direct("a", session_id=session, request_id=request)
    answer, error = whole.ask({"question": "b", "session_id": session, "request_id": request})
    assert error is None
    assert answer["error"]["code"] == "invalid_request"


def test_long_questions_that_differ_in_their_last_character_are_different(whole: Whole) -> None:
    session, request = unique(), unique("r")
    whole.direct("a" * 30_000 + "b", session_id=session, request_id=request)
    answer, error = whole.ask({"question": "a" * 30_000 + "c", "session_id": session, "request_id": request})
    assert error is None
    assert answer.get("error", {}).get("code") == "invalid_request"


def test_a_session_is_busy_while_a_turn_runs_for_others_and_for_the_same_request(whole: Whole) -> None:
    session, request = unique(), unique("r")
    others: list[tuple[Any, AgentError | None]] = []

    def meanwhile(model_id: str, body: dict[str, Any]) -> Reply:
        for event in (
            {"question": "other", "session_id": session},
            {"question": "hi", "session_id": session, "request_id": request},
        ):
            others.append(whole.ask(event))
        return text_reply("Fine.")

    whole.answer_with(meanwhile)
    assert whole.direct("hi", session_id=session, request_id=request, context=FakeContext(seconds=60))["turn"] == 1
    assert [type(error).__name__ for _, error in others] == ["SessionBusyError"] * 2
    # the lease: 60 s of the function, less the reserve, and 5 s
    assert all(error and error.retry_after and 55 <= error.retry_after <= 65 for _, error in others)
    assert len(whole.requests) == 1
    assert len(whole.items(session)) == 1


def test_a_raised_error_tells_nothing_of_the_inside(whole: Whole, monkeypatch: pytest.MonkeyPatch) -> None:
    arn = "arn:aws:iam::123456789012:role/secret-role"
    whole.play({"error": "AccessDeniedException", "message": f"User: {arn} is not authorized"})
    monkeypatch.setattr(handler, "_FUNCTION", whole.function)
    with pytest.raises(AgentError) as caught:
        handler.lambda_handler({"question": "hi"}, FakeContext(unique("invocation")))
    error = caught.value
    assert type(error).__name__ == "MisconfiguredError"
    assert error.__cause__ is None
    assert error.__suppress_context__
    # the last frame of ours is the only one: what stands before it is this test
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert {name for name in frames if "/lambda/" in name} == {handler.__file__}
    assert not [name for name in frames if "botocore" in name]
    told = "".join(traceback.format_exception(error))
    assert "arn:" not in told
    assert "botocore" not in told
    assert "123456789012" not in told


def test_a_failed_turn_frees_its_session(whole: Whole) -> None:
    session = unique()
    whole.play({"error": "ModelTimeoutException"}, {"text": "Fine."})
    with pytest.raises(ModelUnavailableError):
        whole.direct(session_id=session)
    assert whole.items(session) == []
    assert whole.direct("two", session_id=session)["turn"] == 1
    assert len(whole.requests[-1].body["messages"]) == 1


def test_a_function_without_a_context_works(whole: Whole) -> None:
    answer, error = whole.function.answer({"question": "hi"}, None)
    assert error is None
    assert answer
    assert answer["answer"] == "Fine."


def test_an_enormous_answer_stays_below_what_lambda_returns(whole: Whole) -> None:
    whole.play({"text": "日本語\n" * 700_000})
    answer, error = whole.ask({"question": "hi", "session_id": unique()})
    assert error is None
    assert len(json.dumps(answer, ensure_ascii=False).encode()) < 6 * 1024 * 1024
    assert answer["answer"].startswith("日本語")
