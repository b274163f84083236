"""What is told of a streamed turn beside its answer: to the guardrail, in the log and in the metrics."""

import json

import pytest

from tests.agent.edge.whole_function import running


def test_a_guardrail_reads_a_stream_before_it_is_passed_on() -> None:
    with running(GUARDRAIL_ID="g", GUARDRAIL_VERSION="1", streams=True) as whole:
        whole.begin()
        assert whole.direct()["answer"] == "Fine."
        [asked] = whole.requests
    assert asked.body["guardrailConfig"]["streamProcessingMode"] == "sync"
    assert not [found for found in asked.violations if found.level == "error"]


def test_the_log_and_the_metrics_tell_how_long_the_first_text_took(capsys: pytest.CaptureFixture[str]) -> None:
    with running(streams=True, POWERTOOLS_SERVICE_NAME="first-text") as whole:
        whole.direct()
        whole.streams = False
        whole.direct()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    streamed, plain = (line for line in lines if line.get("message") == "turn")
    assert 0 <= streamed["milliseconds_to_first_text"] <= streamed["milliseconds"]
    assert "milliseconds_to_first_text" not in plain
    [first, second] = [line for line in lines if "Turns" in line]
    assert first["TimeToFirstText"][0] >= 0
    assert "TimeToFirstText" not in second
