"""What the log and the metrics tell of a turn, and what they never tell."""

import json
import logging
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from handler import start
from tests.agent.edge.gateway_events import http_api
from tests.agent.edge.whole_function import TABLE, Whole, function_at, least_environment, running, unique
from tests.fakes import CLAUDE

QUESTION, INPUT, RESULT, ANSWER = "Q-MARKER", "INPUT-MARKER", "名前-INPUT-MARKER", "ANSWER-MARKER"
CARD = {"name": INPUT, "email": "e@example.com"}
USES = {"tool_use": [{"name": "make_card", "input": CARD}, {"name": "nosuch_tool", "input": {"x": INPUT}}]}
ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/x"


def lines(captured: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in captured.splitlines() if line.strip()]


class CurrentOutput:
    """Standard output as it is at each write: every test captures its own."""

    def write(self, text: str) -> int:
        return sys.stdout.write(text)

    def flush(self) -> None:
        sys.stdout.flush()


@pytest.fixture(scope="module")
def one_function() -> Iterator[Whole]:
    """A function with a logger of its own."""
    with running(POWERTOOLS_SERVICE_NAME="logged") as whole:
        for each in logging.getLogger("logged").handlers:
            each.stream = CurrentOutput()  # type: ignore[attr-defined]
        yield whole


@pytest.fixture
def logged(whole: Whole) -> Whole:
    """The function, which logs to what the test captures."""
    return whole


def test_a_turn_is_one_line_and_each_tool_use_another(logged: Whole, capsys: pytest.CaptureFixture[str]) -> None:
    logged.play(USES, {"text": ANSWER, "usage": {"inputTokens": 7, "outputTokens": 5, "cacheReadInputTokens": 3}})
    session, request = unique(), unique("r")
    logged.ask(http_api(body={"question": QUESTION, "session_id": session, "request_id": request}))
    told = lines(capsys.readouterr().out)
    uses = [line for line in told if line.get("message") == "tool use"]
    (turn,) = [line for line in told if line.get("message") == "turn"]
    assert [(use["gen_ai.tool.name"], use["status"]) for use in uses] == [
        ("make_card", "success"),
        ("nosuch_tool", "error"),
    ]
    for use in uses:
        assert use["level"] == "INFO"
        assert use["gen_ai.operation.name"] == "execute_tool"
        assert use["session_id"] == session
        assert type(use["milliseconds"]) is int
        assert use["gen_ai.tool.call.id"]
    assert turn["gen_ai.operation.name"] == "chat"
    assert turn["gen_ai.request.model"] == CLAUDE
    assert turn["gen_ai.response.finish_reasons"] == ["end_turn"]
    assert turn["gen_ai.usage.input_tokens"] >= 7
    assert turn["gen_ai.usage.cache_read.input_tokens"] == 3
    assert (turn["session_id"], turn["request_id"], turn["caller"]) == (session, request, "anonymous")
    assert (turn["turn"], turn["steps"], turn["tool_uses"], turn["tool_errors"], turn["saved"]) == (1, 2, 2, 1, True)
    assert len([line for line in told if "level" in line]) == 3


def test_the_metrics_of_a_turn_are_embedded_and_the_same_for_every_model(
    logged: Whole, capsys: pytest.CaptureFixture[str]
) -> None:
    logged.play(USES, {"text": ANSWER})
    logged.direct(QUESTION, session_id=unique())
    (metrics,) = [line for line in lines(capsys.readouterr().out) if "_aws" in line]
    (directive,) = metrics["_aws"]["CloudWatchMetrics"]
    units = {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]}
    assert {"Turns", "Steps", "ToolErrors", "InputTokens", "OutputTokens", "Duration"} <= set(units)
    assert {"CacheReadInputTokens", "CacheWriteInputTokens"} <= set(units)
    assert units["Duration"] == "Milliseconds"
    assert directive["Dimensions"] == [["service"]]
    assert metrics["service"]
    assert (metrics["Turns"], metrics["Steps"], metrics["ToolErrors"]) == ([1.0], [2.0], [1.0])
    assert isinstance(metrics["_aws"]["Timestamp"], int)


def test_metrics_have_the_time_at_which_their_invocation_began(
    logged: Whole, capsys: pytest.CaptureFixture[str]
) -> None:
    def stamp() -> int:
        (found,) = [line["_aws"]["Timestamp"] for line in lines(capsys.readouterr().out) if "_aws" in line]
        return int(found)

    def ask() -> tuple[float, int, float]:
        logged.play({"text": ANSWER})
        before = time.time() * 1000
        logged.direct(QUESTION, session_id=unique())
        return before, stamp(), time.time() * 1000

    for before, told, after in (ask(), ask()):
        assert round(before) <= told < after


@pytest.mark.parametrize(
    ("event", "failures", "raised"),
    [
        ({"question": QUESTION}, 1, 1),
        (http_api(body={"question": QUESTION}), 1, 0),
        ({"question": 5}, 0, 0),
    ],
    ids=["raised", "returned over HTTP", "the caller's mistake"],
)
def test_failures_are_counted_and_apart_from_them_what_lambda_counts_too(
    logged: Whole, capsys: pytest.CaptureFixture[str], event: dict[str, Any], failures: int, raised: int
) -> None:
    logged.play(*[FAILING["denied"]] * 4)
    logged.ask(event)
    counted = [line for line in lines(capsys.readouterr().out) if "_aws" in line]
    assert sum(line["Failures"][0] for line in counted) == failures
    assert sum(line["RaisedErrors"][0] for line in counted) == raised


def test_lambda_can_read_the_time_of_every_line(logged: Whole, capsys: pytest.CaptureFixture[str]) -> None:
    """Lambda takes a line whose timestamp it can't read for one of level INFO ("Log and monitor Python Lambda functions")."""
    logged.play(USES, *[FAILING["denied"]] * 4)
    logged.ask({"question": QUESTION, "session_id": unique()})
    told = [line["timestamp"] for line in lines(capsys.readouterr().out) if "level" in line]
    assert told
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", text) for text in told)


def test_a_repeated_request_is_no_second_turn(logged: Whole, capsys: pytest.CaptureFixture[str]) -> None:
    ids = {"session_id": unique(), "request_id": unique("r")}
    logged.direct(**ids)
    capsys.readouterr()
    logged.direct(**ids)
    assert not [line for line in lines(capsys.readouterr().out) if line.get("Turns")]


FAILING: dict[str, dict[str, Any]] = {
    "none": {"text": ANSWER},
    "blank": {"text": " "},
    "cut": {"text": ANSWER, "stop_reason": "max_tokens"},
    "guardrail": {"text": ANSWER, "stop_reason": "guardrail_intervened"},
    "throttled": {"error": "ServiceQuotaExceededException", "message": f"{ARN}"},
    "denied": {"error": "AccessDeniedException", "message": f"User: {ARN} is not authorized"},
    "model error": {"error": "ModelErrorException", "status": 424},
    "refused": {"error": "ValidationException", "message": "messages.3: not allowed"},
    "too long": {"error": "ValidationException", "message": "Input is too long"},
    "timed out": {"error": "ModelTimeoutException", "status": 408},
}


@pytest.mark.parametrize("name", FAILING)
def test_nothing_that_was_said_is_logged_whatever_happens(
    logged: Whole, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    session = unique()
    for last in (FAILING[name], {"text": ANSWER}):
        logged.play(USES, *[last] * 4)
        logged.ask({"question": QUESTION, "session_id": session})
    logged.play(*[FAILING[name]] * 4)
    logged.ask(http_api(body={"question": QUESTION, "session_id": session}))
    captured = capsys.readouterr()
    assert "MARKER" not in captured.out + captured.err
    assert captured.out


@pytest.mark.parametrize("name", FAILING)
def test_no_account_and_no_arn_is_logged(logged: Whole, capsys: pytest.CaptureFixture[str], name: str) -> None:
    logged.play(*[FAILING[name]] * 4)
    logged.ask(http_api(body={"question": QUESTION}))
    captured = capsys.readouterr()
    assert not re.search(r"\b123456789012\b|arn:aws", captured.out + captured.err)


@pytest.mark.parametrize(
    "event",
    [
        {"question": 5, "session_id": QUESTION},
        {"question": QUESTION * 20_000},
        {"question": "hi", "session_id": f"#{QUESTION}"},
        {"prompt": QUESTION},
        http_api(body=f'{{"question": "{QUESTION}",}}'),
        http_api(body=f"question={QUESTION}"),
        http_api("GET", f"/{QUESTION}"),
        http_api(headers={"authorization": QUESTION}, body="{}"),
        http_api(body={"question": "hi"}, authorizer={"lambda": {"token": QUESTION}}),
    ],
    ids=lambda event: str(event)[:30],
)
def test_a_request_that_is_refused_leaves_no_content_in_the_log(
    logged: Whole, capsys: pytest.CaptureFixture[str], event: dict[str, Any]
) -> None:
    logged.ask(event)
    assert "MARKER" not in capsys.readouterr().out


def test_content_is_logged_where_the_setting_says_so(whole: Whole, capsys: pytest.CaptureFixture[str]) -> None:
    function = function_at(whole.server, LOG_CONTENT="true", POWERTOOLS_SERVICE_NAME=unique("logged"))
    whole.play(USES, {"text": ANSWER})
    answer, error = function.answer({"question": QUESTION, "session_id": unique()}, None)
    assert error is None
    assert answer
    told = lines(capsys.readouterr().out)
    (turn,) = [line for line in told if line.get("message") == "turn"]
    use = next(line for line in told if line.get("message") == "tool use")
    assert (turn["question"], turn["answer"]) == (QUESTION, ANSWER)
    assert use["input"]["name"] == INPUT
    assert INPUT in json.dumps(use["result"])


def test_japanese_is_logged_as_written(whole: Whole, capsys: pytest.CaptureFixture[str]) -> None:
    function = function_at(whole.server, LOG_CONTENT="true", POWERTOOLS_SERVICE_NAME=unique("logged"))
    function.answer({"question": "東京の天気は？", "session_id": unique()}, None)
    assert "東京の天気は？" in capsys.readouterr().out


def test_a_failure_has_one_line_with_its_code(logged: Whole, capsys: pytest.CaptureFixture[str]) -> None:
    logged.play({"error": "AccessDeniedException", "message": "You don't have access to the model"})
    logged.ask({"question": "hi"})
    told = lines(capsys.readouterr().out)
    (failure,) = [line for line in told if "level" in line]
    assert (failure["level"], failure["error.type"]) == ("ERROR", "misconfigured")
    assert "access to the model" in failure["detail"]
    assert [line for line in told if line.get("Failures") == [1.0]]


def test_a_table_that_is_not_there_is_told_in_the_log_alone(whole: Whole, capsys: pytest.CaptureFixture[str]) -> None:
    environment = least_environment(TABLE_NAME="no-such-table", POWERTOOLS_SERVICE_NAME=unique("logged"))
    _, error = start(environment).answer({"question": QUESTION}, None)
    assert error is not None
    assert error.code == "misconfigured"
    log = capsys.readouterr().out
    assert "TABLE_NAME" in log
    assert "MARKER" not in log
    assert TABLE not in str(error)
