"""Alarms, dashboard, saved queries and the console's test events."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.context import CDK_JSON, from_context
from infra.queries import SESSIONS, TOOLS_TABLE, saved_queries
from infra.test_events import EVENTS, event_schema
from tests.infra import journal
from tests.infra.synthesis import EVERYTHING, TOKENS, Synthesis, context

Synthesise = Callable[..., Synthesis]
UNWATCHED = {
    "name": "mine",
    "alarm_tokens_per_day": None,
    "test_events": "off",
    "price_input": 3,
    "price_output": 15,
    "price_cache_read": 0.3,
    "price_cache_write": 3.75,
}


def alarms(stack: Synthesis) -> list[dict[str, Any]]:
    return list(stack.resources("CloudWatch::Alarm").values())


def metrics_of(alarm: dict[str, Any]) -> set[tuple[str, str]]:
    parts = [part["MetricStat"]["Metric"] for part in alarm.get("Metrics", []) if "MetricStat" in part]
    return {(metric["Namespace"], metric["MetricName"]) for metric in parts or [alarm]}


def dashboard(stack: Synthesis) -> str:
    body = stack.resource("CloudWatch::Dashboard")["DashboardBody"]
    return "".join(part if isinstance(part, str) else "TOKEN" for part in body["Fn::Join"][1])


def test_each_thing_to_look_at_has_its_alarm(stack: Synthesis) -> None:
    watched = [metrics_of(alarm) for alarm in alarms(stack)]
    tokens = {"InputTokens", "OutputTokens", "CacheReadInputTokens", "CacheWriteInputTokens"}
    for expected in (
        {("AWS/Lambda", "Errors")},
        {("AWS/Lambda", "Throttles")},
        {("AWS/Lambda", "Duration")},
        {("agent", "ToolErrors"), ("agent", "ToolUses")},
        {("agent", "ModelThrottled")},
        {("AWS/SQS", "ApproximateNumberOfMessagesVisible")},
        {("agent", name) for name in tokens},
    ):
        assert expected in watched


def test_a_slow_function_alarms_before_its_time_is_over(synthesise: Synthesise) -> None:
    [alarm] = [item for item in alarms(synthesise(**TOKENS)) if item.get("ExtendedStatistic") == "p95"]
    assert alarm["Threshold"] == 0.8 * 1000 * TOKENS["timeout_seconds"]


def test_watching_costs_what_the_readme_says(stack: Synthesis) -> None:
    watched = sum(max(1, len(models_of(alarm))) for alarm in alarms(stack))
    told = f"{len(journal.metrics())} metrics at 0.30, alarms on {watched} metrics at 0.10, a dashboard at 3.00"
    assert told in " ".join((CDK_JSON.parent / "README.md").read_text().split())


def test_the_limit_of_tokens_a_day_is_the_chosen_one_or_none(synthesise: Synthesise, stack: Synthesis) -> None:
    [alarm] = [item for item in alarms(synthesise(**TOKENS)) if item["Threshold"] == TOKENS["alarm_tokens_per_day"]]
    assert {part["MetricStat"]["Period"] for part in alarm["Metrics"] if "MetricStat" in part} == {86_400}
    assert len(alarms(synthesise(**UNWATCHED))) == len(alarms(stack)) - 1


def test_alarms_go_to_the_topic_where_one_is_named(synthesise: Synthesise, stack: Synthesis) -> None:
    topic = EVERYTHING["alarm_topic"]
    assert all(alarm["AlarmActions"] == [topic] for alarm in alarms(synthesise(**EVERYTHING)))
    assert not [alarm for alarm in alarms(stack) if "AlarmActions" in alarm]


def test_what_alarms_look_at_is_written_by_the_function(stack: Synthesis) -> None:
    own = {name for alarm in alarms(stack) for namespace, name in metrics_of(alarm) if namespace == "agent"}
    assert own <= journal.metrics()


def test_the_functions_metrics_are_looked_for_where_it_writes_them(synthesise: Synthesise) -> None:
    stack = synthesise(**UNWATCHED)
    assert stack.environment()["POWERTOOLS_METRICS_NAMESPACE"] == "mine"
    assert stack.environment()["POWERTOOLS_SERVICE_NAME"] == "mine"
    [throttled] = [item for item in alarms(stack) if item.get("MetricName") == "ModelThrottled"]
    assert throttled["Namespace"] == "mine"
    dimensions = {item["Name"]: item["Value"] for item in throttled["Dimensions"]}
    assert dimensions == {"service": "mine", "model": stack.environment()["MODEL_ID"]}


def models_of(alarm: dict[str, Any]) -> set[tuple[str, str]]:
    """The metrics that an alarm adds up, each with its model."""
    metrics = [part["MetricStat"]["Metric"] for part in alarm.get("Metrics", []) if "MetricStat" in part]
    dimensions = [{item["Name"]: item["Value"] for item in metric.get("Dimensions", [])} for metric in metrics]
    return {(metric["MetricName"], found["model"]) for metric, found in zip(metrics, dimensions, strict=True)}


@pytest.mark.parametrize("choices", [EVERYTHING, TOKENS])
def test_all_models_that_may_answer_are_watched_together(synthesise: Synthesise, choices: dict[str, Any]) -> None:
    stack = synthesise(**choices)
    models = from_context(context(**choices)).model_ids
    watched = [models_of(alarm) for alarm in alarms(stack)]
    tokens = ["InputTokens", "OutputTokens"]
    if len(models) == 2:
        tokens += ["CacheReadInputTokens", "CacheWriteInputTokens"]
    for names in (["ToolErrors", "ToolUses"], ["ModelThrottled"], tokens):
        assert {(name, model) for name in names for model in models} in watched
    for alarm in alarms(stack):
        kinds = ["MetricStat" in part for part in alarm.get("Metrics", [])]
        # What PutMetricAlarm takes at most.
        assert kinds.count(True) <= 10
        assert kinds.count(False) <= 10
    for name in ("Turns", "Duration", "InputTokens"):
        assert all(f'"{name}","model","{model}"' in dashboard(stack) for model in models)


def test_cached_tokens_left_out_of_the_alarm_are_told(synthesise: Synthesise, stack: Synthesis) -> None:
    def told(found: Synthesis) -> bool:
        return any("cached ones not counted" in alarm["AlarmDescription"] for alarm in alarms(found))

    assert told(synthesise(**EVERYTHING))
    assert not told(stack)


def test_the_dashboard_shows_every_metric_of_the_function(stack: Synthesis) -> None:
    assert {"Turns", "Duration"} <= journal.metrics()
    assert {name for name in journal.metrics() if f'"{name}"' in dashboard(stack)} == journal.metrics()
    for words in ("p50", "p95", "ConsumedReadCapacityUnits", "count_distinct(session_id)", "gen_ai.tool.name"):
        assert words in dashboard(stack)


def test_the_dashboard_counts_the_cost_by_the_prices_of_cdk_json(synthesise: Synthesise) -> None:
    shown = dashboard(synthesise(**UNWATCHED))
    assert "FILL(i, 0) * 3.0 + FILL(o, 0) * 15.0 + FILL(r, 0) * 0.3 + FILL(w, 0) * 3.75" in shown


def test_queries_are_saved_for_sessions_slow_turns_tool_errors_and_cost(stack: Synthesis) -> None:
    saved = stack.resources("Logs::QueryDefinition").values()
    names = {"turns of one session", "slowest turns", "tool errors", "most expensive turns"}
    assert {query["Name"] for query in saved} == {f"agent/{name}" for name in names}
    group = stack.resource("Lambda::Function")["LoggingConfig"]["LogGroup"]
    assert all(query["LogGroupNames"] == [group] for query in saved)


def test_queries_ask_only_for_fields_that_the_function_logs() -> None:
    queries = {**saved_queries(from_context(context())), "tools": TOOLS_TABLE, "sessions": SESSIONS}
    for lines in queries.values():
        text = "\n".join(lines)
        known = {"@timestamp", *journal.line("tool_use" if '"tool use"' in text else "turn")}
        quoted = {name.removesuffix(".0") for name in text.split("`")[1::2]}
        assert quoted <= known
        fields = [line.removeprefix("fields ") for line in lines if line.startswith("fields ")]
        plain = {part.strip() for line in fields for part in line.split(",") if part.strip().isidentifier()}
        assert plain <= known


def test_the_sample_events_are_test_events_of_the_function(stack: Synthesis) -> None:
    [function] = stack.resources("Lambda::Function")
    schema = stack.resource("EventSchemas::Schema")
    assert schema["SchemaName"] == {"Fn::Join": ["", ["_", {"Ref": function}, "-schema"]]}
    assert schema["RegistryName"] == "lambda-testevent-schemas"
    assert schema["Type"] == "OpenApi3"
    examples = json.loads(schema["Content"])["components"]["examples"]
    assert examples == {path.stem: {"value": json.loads(path.read_text())} for path in EVENTS.glob("*.json")}
    assert examples


def test_an_event_keeps_its_text_as_written(tmp_path: Path) -> None:
    (tmp_path / "greeting.json").write_text('{"question": "こんにちは"}')
    assert event_schema(tmp_path)["components"]["examples"] == {"greeting": {"value": {"question": "こんにちは"}}}


def test_the_registry_of_test_events_is_made_and_outlives_the_stack_unless_it_exists(synthesise: Synthesise) -> None:
    resources = synthesise().template["Resources"].values()
    [registry] = [item for item in resources if item["Type"] == "AWS::EventSchemas::Registry"]
    # Kept at destroy, since others may use it; removed when the first deploy fails.
    assert registry["DeletionPolicy"] == "RetainExceptOnCreate"
    assert not synthesise(**EVERYTHING).resources("EventSchemas::Registry")
    assert synthesise(**EVERYTHING).resources("EventSchemas::Schema")
    assert not synthesise(**UNWATCHED).resources("EventSchemas::Schema")
