"""The alarms ring when a person should look, and only then; what they watch is what the function writes."""

from collections.abc import Callable
from typing import Any

import pytest

from agent.adapters.journal import PowertoolsJournal
from agent.errors import (
    AgentError,
    InvalidRequestError,
    MisconfiguredError,
    ModelThrottledError,
    ModelUnavailableError,
    SessionBusyError,
    StorageUnavailableError,
)
from tests.documents import ROOT
from tests.infra import journal
from tests.infra.alarms import alarms, metrics_of, names_of, rings
from tests.infra.synthesis import ENDPOINT, EVERYTHING, TOKENS, UNWATCHED, Synthesis, dashboard

Synthesise = Callable[..., Synthesis]
# Ids of every kind, as the function is set up with them and as it names them in a turn's answer.
MODELS = {
    "amazon.nova-lite-v1:0": "amazon.nova-lite-v1:0",
    "global.anthropic.claude-haiku-5-5": "global.anthropic.claude-haiku-5-5",
    "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123": "abc123",
    "openai/gpt-oss-120b": "openai/gpt-oss-120b",
    # Before a model is known.
    "": "",
}


def test_each_thing_to_look_at_has_its_alarm(stack: Synthesis) -> None:
    tokens = {"InputTokens", "OutputTokens", "CacheReadInputTokens", "CacheWriteInputTokens"}
    expected: list[set[tuple[str, str]]] = [
        {("AWS/Lambda", "Errors"), ("agent", "RaisedErrors")},
        {("AWS/Lambda", "Throttles")},
        {("AWS/Lambda", "Duration")},
        {("AWS/SQS", "ApproximateNumberOfMessagesVisible")},
        {("AWS/ApiGateway", "5xx"), ("AWS/ApiGateway", "Count")},
        {("AWS/ApiGateway", "Latency")},
        {("agent", "Failures"), ("agent", "Turns")},
        {("agent", "ToolErrors"), ("agent", "ToolUses")},
        {("agent", "ModelThrottled")},
        {("agent", name) for name in tokens},
    ]
    found = [names_of(alarm) for alarm in alarms(stack)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


def test_what_is_slow_alarms_before_its_time_is_over(synthesise: Synthesise) -> None:
    slow = [item for item in alarms(synthesise(**TOKENS)) if item.get("ExtendedStatistic") == "p95"]
    thresholds = {item["MetricName"]: item["Threshold"] for item in slow}
    function, api = TOKENS["timeout_seconds"], TOKENS["http_timeout_seconds"] + 1
    assert thresholds == {"Duration": 900 * function, "Latency": 900 * api}


def test_watching_costs_what_the_documents_say(stack: Synthesis) -> None:
    number = sum(len(metrics_of(alarm)) for alarm in alarms(stack))
    own = len(journal.metrics_of(journal.lines(stack.environment(), journal.everything("model"))))
    told = f"{own} metrics at 0.30, alarms on {number} metrics at 0.10, a dashboard at 3.00"
    assert told in " ".join((ROOT / "docs" / "operations.md").read_text(encoding="utf-8").split())


def test_the_limit_of_tokens_a_day_is_the_chosen_one_or_none(synthesise: Synthesise, stack: Synthesis) -> None:
    [alarm] = [item for item in alarms(synthesise(**TOKENS)) if item["Threshold"] == TOKENS["alarm_tokens_per_day"]]
    assert {part["MetricStat"]["Period"] for part in alarm["Metrics"] if "MetricStat" in part} == {86_400}
    assert len(alarms(synthesise(**UNWATCHED))) == len(alarms(stack)) - 1


def test_alarms_tell_the_named_topic_or_send_e_mail_and_synth_says_where_they_do_neither(
    synthesise: Synthesise, stack: Synthesis
) -> None:
    topic = EVERYTHING["alarm_topic"]
    assert all(alarm["AlarmActions"] == alarm["OKActions"] == [topic] for alarm in alarms(synthesise(**EVERYTHING)))
    mailed = synthesise(**ENDPOINT)
    [made] = mailed.resources("SNS::Topic")
    assert all(alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": made}] for alarm in alarms(mailed))
    subscription = mailed.resource("SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", ENDPOINT["alarm_email"])
    assert not [alarm for alarm in alarms(stack) if "AlarmActions" in alarm]
    assert "Annotation::agent:alarms-tell-nobody" in stack.warnings
    assert not [told for each in (mailed, synthesise(**EVERYTHING)) for told in each.warnings if "nobody" in told]


@pytest.mark.parametrize("model_id", MODELS)
@pytest.mark.parametrize("choices", [{}, UNWATCHED], ids=["agent", "mine"])
def test_what_is_watched_is_written_by_the_function_whatever_its_model(
    synthesise: Synthesise, choices: dict[str, Any], model_id: str
) -> None:
    stack = synthesise(**choices)

    def tell(it: PowertoolsJournal) -> None:
        it.turn(journal.answer(MODELS[model_id]), "Why?", "r", "", 1)
        it.failure(ModelThrottledError(), model_id, "r", raised=True)

    written = set(journal.metrics_of(journal.lines(stack.environment(), tell)))
    of_alarms = {metric for alarm in alarms(stack) for metric in metrics_of(alarm).values()}
    name = stack.environment()["POWERTOOLS_SERVICE_NAME"]
    own = {metric for metric in of_alarms if metric[0] == name}
    assert own
    assert own <= written
    # Neither alarms nor metrics are told apart by the model.
    assert {dimensions for _, _, dimensions in written} == {frozenset({("service", name)})}
    assert all(f'"{name}","{metric}","service","{name}"' in dashboard(stack) for _, metric, _ in written)


def aws(namespace: str, **values: float) -> dict[journal.Metric, float]:
    return {(namespace, name.removeprefix("_"), frozenset()): value for name, value in values.items()}


def fail(error: AgentError, *, raised: bool = False) -> Callable[[PowertoolsJournal], None]:
    return lambda it: it.failure(error, "amazon.nova-lite-v1:0", "r", raised=raised)


def turn(it: PowertoolsJournal) -> None:
    it.turn(journal.answer("amazon.nova-lite-v1:0") | {"tool_uses": []}, "Why?", "r", "", 1)


CASES: list[tuple[str, list[Callable[[PowertoolsJournal], None]], dict[journal.Metric, float], set[str]]] = [
    ("all is well", [turn] * 20, aws("AWS/ApiGateway", _5xx=0, Count=20) | aws("AWS/Lambda", Errors=0), set()),
    (
        "every request over HTTP fails, which Lambda does not count",
        [fail(MisconfiguredError())] * 3,
        aws("AWS/ApiGateway", _5xx=3, Count=3) | aws("AWS/Lambda", Errors=0),
        {"Failures", "ServerErrors"},
    ),
    ("one of a hundred fails", [fail(ModelUnavailableError()), *[turn] * 99], aws("AWS/Lambda", Errors=0), set()),
    ("the setting is wrong, before a model is known", [fail(MisconfiguredError())] * 4, {}, {"Failures"}),
    ("it crashes at its start", [], aws("AWS/Lambda", Errors=1), {"Crashes"}),
    ("busy sessions", [fail(SessionBusyError(), raised=True)] * 9, aws("AWS/Lambda", Errors=9), set()),
    ("a crash among them", [fail(SessionBusyError(), raised=True)] * 9, aws("AWS/Lambda", Errors=10), {"Crashes"}),
    (
        "it fails when invoked directly",
        [fail(StorageUnavailableError(), raised=True)] * 5,
        aws("AWS/Lambda", Errors=5),
        {"Failures"},
    ),
    ("throttled", [fail(ModelThrottledError())] * 5 + [turn] * 500, {}, {"ModelThrottled"}),
    ("questions that are wrong", [fail(InvalidRequestError("No."))] * 50, aws("AWS/Lambda", Errors=0), set()),
]


@pytest.mark.parametrize(("told", "seen", "ringing"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_alarms_ring_when_they_should_and_only_then(
    stack: Synthesis,
    told: list[Callable[[PowertoolsJournal], None]],
    seen: dict[journal.Metric, float],
    ringing: set[str],
) -> None:
    def tell(it: PowertoolsJournal) -> None:
        for each in told:
            each(it)

    values = {**journal.metrics_of(journal.lines(stack.environment(), tell)), **seen}
    found = stack.resources("CloudWatch::Alarm").items()
    off = {name.removeprefix("Alarms")[:-8] for name, alarm in found if rings(alarm, values)}
    assert off == ringing
