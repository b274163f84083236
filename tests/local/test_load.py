"""The load test of a deployed stack: sessions side by side, and a report that adds up."""

import io
import json
import threading
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.config import Config
from local.__main__ import main
from local.load import Asked, ask_all, code_of, invoker, percentile, report

USAGE = {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 0, "cache_write_input_tokens": 0}


def test_sessions_ask_side_by_side_and_each_one_question_after_the_other() -> None:
    meeting = threading.Barrier(3, timeout=5)
    seen: dict[str, int] = {}

    def invoke(event: Any) -> tuple[Any, bool]:
        # Would break where one session waited for another.
        meeting.wait()
        seen[event["session_id"]] = seen.get(event["session_id"], 0) + 1
        return {"usage": USAGE}, True

    asked = ask_all(invoke, "hi", sessions=3, turns=2)
    assert sorted(seen.values()) == [2, 2, 2]
    assert [each.error for each in asked] == [""] * 6


def test_errors_are_counted_by_their_code_and_end_nothing() -> None:
    answers = iter(
        [({"usage": USAGE}, True), ({"error": {"code": "session_busy"}}, False), ({"errorType": "X"}, False)]
    )
    asked = ask_all(lambda event: next(answers), "hi", sessions=1, turns=3)
    assert [each.error for each in asked] == ["", "session_busy", "X"]
    assert code_of("text") == "unreadable"


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(number) for number in range(1, 101)]
    assert [percentile(values, each) for each in (50, 90, 99, 100)] == [50, 90, 99, 100]
    assert percentile([3.0], 50) == percentile([3.0], 99) == 3.0


def test_the_report_tells_answers_latency_errors_tokens_and_cost() -> None:
    asked = [Asked(1.0, usage=USAGE), Asked(3.0, usage=USAGE), Asked(9.0, "model_throttled")]
    prices = Config(price_input=10.0, price_output=100.0)
    told = dict(report(asked, 4.0, prices))
    assert told["answers"] == "2 of 3 in 4.0 s, 0.50 a second"
    assert told["latency"].startswith("p50 1.00 s, p90 3.00 s")
    assert told["errors"] == "model_throttled 1"
    assert told["tokens"] == "200 in, 20 out"
    assert told["cost"].startswith("0.0040 USD")
    assert dict(report([Asked(1.0, "x")], 1.0, prices))["latency"] == "no answer"


def test_what_aws_refuses_is_an_error_by_its_code() -> None:
    with mock_aws():
        session = boto3.Session(region_name="us-east-1")
        answer, succeeded = invoker(session, "nowhere", Config(), 1)({"question": "hi"})
    assert (answer, succeeded) == ({"errorType": "ResourceNotFoundException"}, False)


@pytest.mark.parametrize(
    ("payload", "error", "expected"),
    [
        ({"usage": USAGE}, None, True),
        ({"error": {"code": "invalid_request"}}, None, False),
        ({"errorType": "SessionBusyError"}, "Unhandled", False),
    ],
)
def test_an_answer_an_error_that_was_returned_and_one_that_was_raised_are_told_apart(
    payload: Any, error: str | None, expected: bool
) -> None:
    class Session:
        def client(self, _service: str, config: Any) -> Any:
            assert config.retries == {"total_max_attempts": 1}
            assert config.read_timeout > Config().timeout_seconds
            return self

        def invoke(self, **_: Any) -> dict[str, Any]:
            found: dict[str, Any] = {"Payload": io.BytesIO(json.dumps(payload).encode())}
            return found | ({"FunctionError": error} if error else {})

    session: Any = Session()
    assert invoker(session, "agent", Config(), 1)({"question": "hi"}) == (payload, expected)


def test_without_aws_nothing_is_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["load"]) == 2
    assert "say --aws" in capsys.readouterr().err
