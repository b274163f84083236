"""Dashboard, saved queries and the console's test events."""

import json
from collections.abc import Callable
from pathlib import Path

from infra.context import from_context
from infra.queries import SESSIONS, TOOLS_TABLE, saved_queries
from infra.test_events import EVENTS, event_schema
from tests.infra import journal
from tests.infra.synthesis import EVERYTHING, UNWATCHED, Synthesis, context, dashboard

Synthesise = Callable[..., Synthesis]


def test_the_dashboard_shows_percentiles_tools_sessions_and_the_table(stack: Synthesis) -> None:
    for words in ("p50", "p95", "ConsumedReadCapacityUnits", "count_distinct(session_id)", "gen_ai.tool.name"):
        assert words in dashboard(stack)


def test_the_dashboard_counts_the_cost_by_the_prices_of_cdk_json(synthesise: Synthesise) -> None:
    shown = dashboard(synthesise(**UNWATCHED))
    assert "(i * 3.0 + o * 15.0 + r * 0.3 + w * 3.75) / 1000000" in shown


def test_a_days_cost_is_added_up_over_a_day_whatever_the_dashboard_shows(stack: Synthesis) -> None:
    body = dashboard(stack)
    assert '"periodOverride":"inherit"' in body
    [cost] = [part for part in body.split('{"type":"metric"') if '"Cost a day, USD"' in part]
    assert cost.count('"period":86400') == 5


def test_queries_are_saved_for_sessions_slow_turns_tool_errors_and_cost(stack: Synthesis) -> None:
    saved = stack.resources("Logs::QueryDefinition").values()
    names = {"turns of one session", "slowest turns", "models", "tool errors", "most expensive turns"}
    assert {query["Name"] for query in saved} == {f"agent/{name}" for name in names}
    group = stack.resource("Lambda::Function")["LoggingConfig"]["LogGroup"]
    assert all(query["LogGroupNames"] == [group] for query in saved)


def test_queries_ask_only_for_fields_that_the_function_logs() -> None:
    queries = {**saved_queries(from_context(context())), "tools": TOOLS_TABLE, "sessions": SESSIONS}
    for lines in queries.values():
        text = "\n".join(lines)
        known = {"@timestamp", *journal.fields("tool use" if '"tool use"' in text else "turn")}
        quoted = {name.removesuffix(".0") for name in text.split("`")[1::2]}
        assert quoted <= known
        fields = [line.removeprefix("fields ") for line in lines if line.startswith("fields ")]
        plain = {part.strip() for line in fields for part in line.split(",") if part.strip().isidentifier()}
        assert plain <= known


def test_the_sample_events_are_test_events_of_the_function_where_asked(
    synthesise: Synthesise, stack: Synthesis
) -> None:
    chosen = synthesise(**EVERYTHING)
    [function] = chosen.resources("Lambda::Function")
    schema = chosen.resource("EventSchemas::Schema")
    assert schema["SchemaName"] == {"Fn::Join": ["", ["_", {"Ref": function}, "-schema"]]}
    assert schema["RegistryName"] == "lambda-testevent-schemas"
    assert schema["Type"] == "OpenApi3"
    examples = json.loads(schema["Content"])["components"]["examples"]
    assert examples == {path.stem: {"value": json.loads(path.read_text())} for path in EVENTS.glob("*.json")}
    assert examples
    assert not stack.resources("EventSchemas::Schema")


def test_no_stack_holds_the_registry_of_which_an_account_and_region_have_one(synthesise: Synthesise) -> None:
    assert EVERYTHING["test_events"] == "create"
    assert not synthesise(**EVERYTHING).resources("EventSchemas::Registry")


def test_an_event_keeps_its_text_as_written(tmp_path: Path) -> None:
    (tmp_path / "greeting.json").write_text('{"question": "こんにちは"}')
    assert event_schema(tmp_path)["components"]["examples"] == {"greeting": {"value": {"question": "こんにちは"}}}
