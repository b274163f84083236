"""The deployment and the function agree, although neither imports the other: settings, routes, names."""

import ast
import re
from collections.abc import Callable
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from agent.adapters.dynamodb.items import to_item
from agent.edge.routes import ROUTES
from agent.errors import MisconfiguredError
from agent.ports import StoredTurn
from agent.settings import Settings
from infra.bundling import SOURCE
from infra.choices import ConfigError
from infra.config import Config
from infra.context import from_context
from infra.session_table import ACTIONS, INDEX, INDEX_ACTIONS
from tests.infra.synthesis import Synthesis, context
from tests.test_readme import settings_read

# Set by the stack itself, from what it makes.
MADE = {"TABLE_NAME": "table"}


def read_by_settings() -> set[str]:
    """Environment variables that settings.py reads, as the first argument of a call."""
    tree = ast.parse((SOURCE / "agent" / "settings.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    firsts = [call.args[0] for call in calls]
    texts = {node.value for node in firsts if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    # Those of Powertools are read to be checked; whoever wants one sets it on the function.
    return {text for text in texts if text.isidentifier() and text.isupper() and not text.startswith("POWERTOOLS_")}


def test_every_setting_of_the_function_is_a_choice_and_every_choice_handed_on_is_a_setting() -> None:
    ours = {item.name.upper() for item in fields(Config) if item.metadata["setting"]}
    assert ours | set(MADE) == read_by_settings()


def test_deploying_without_a_choice_gives_the_functions_own_defaults(stack: Synthesis) -> None:
    required = {"MODEL_ID": stack.environment()["MODEL_ID"], **MADE}
    assert Settings.from_environment({**stack.environment(), **MADE}) == Settings.from_environment(required)


def test_whatever_can_be_chosen_is_taken_by_the_function() -> None:
    config = replace(
        from_context(context()),
        tools=("fortune",),
        model_id="qwen2.5:7b",
        temperature=0.25,
        turn_token_limit=50_000,
        cors_origins=("https://example.com", "http://localhost:3000"),
        streaming=True,
        log_content=True,
        caller_identity="role",
        guardrail_id="abc123",
        guardrail_version="DRAFT",
        fallback_model_ids=("openai/gpt-oss-120b", "llama3.1"),
        caller_daily_tokens=1_000_000,
        approvers=("0" * 32, "f" * 32),
        approval_ttl_seconds=3600,
        history_tokens=50_000,
        prompt_caching="auto",
        model_family="nova",
        model_provider="openai",
        model_tool_use="react",
        openai_base_url="https://models.example.com/v1",
        openai_api_key_secret="models/key",
    )
    settings = Settings.from_environment({**config.environment(), **MADE})
    same = ["streaming", "tools", "temperature", "turn_token_limit", "cors_origins", "log_content", "caller_identity"]
    same += ["guardrail_id", "guardrail_version", "fallback_model_ids", "caller_daily_tokens", "approvers"]
    same += [
        "approval_ttl_seconds",
        "history_tokens",
        "prompt_caching",
        "model_family",
        "model_provider",
        "model_tool_use",
    ]
    same += ["openai_base_url", "openai_api_key_secret"]
    for name in same:
        assert getattr(settings, name) == getattr(config, name)


def test_fields_for_the_model_arrive_as_they_stand_in_cdk_json() -> None:
    fields_of_ours = {"top_k": 5, "stop": ["終"], "nested": {"x": 0.5, "y": None}}
    environment = from_context(context(model_request_fields=fields_of_ours)).environment()
    assert Settings.from_environment({**environment, **MADE}).model_request_fields == fields_of_ours


def test_numbers_have_one_set_of_bounds_but_for_what_the_gateway_waits() -> None:
    rules = {item.name.upper(): item.metadata["rule"].allowed for item in fields(Config) if item.metadata["setting"]}
    read = {name: how for name, how in settings_read().items() if name in rules}
    for name, (method, others) in read.items():
        if method.endswith(("integer", "number")) and name != "HTTP_TIMEOUT_SECONDS":  # the API gives up at 29 s
            assert f"from {others[-2]} to {others[-1]}" in rules[name], name


@pytest.mark.parametrize("end", ["low", "high"])
def test_what_the_deployment_takes_at_its_bounds_the_function_takes_too(end: str) -> None:
    def bound(item: Field[Any]) -> str | None:
        found = re.search(r"number from (\S+) to (\d\S*?)(,|$)", item.metadata["rule"].allowed)
        return found and found[1 if end == "low" else 2]

    bounds = {item.name: bound(item) for item in fields(Config) if item.metadata["setting"]}
    numbers = {name: value for name, value in bounds.items() if value and name != "top_p"}
    assert {"history_pairs", "approval_ttl_seconds", "temperature"} <= numbers.keys()
    model = {"model_id": "amazon.nova-lite-v1:0"}
    Settings.from_environment({**from_context(context(**model, **numbers)).environment(), **MADE})
    Settings.from_environment({**from_context(context(**model, top_p=bounds["top_p"])).environment(), **MADE})


@pytest.mark.parametrize("value", [0.5, 1])
@pytest.mark.parametrize("key", ["temperature", "top_p"])
@pytest.mark.parametrize(
    "model_id",
    ["anthropic.claude-sonnet-4-6", "global.anthropic.claude-haiku-5-5", "us.anthropic.claude-opus-4-7-v1:0"],
)
def test_sampling_settings_are_refused_at_synth_for_the_models_for_which_the_function_refuses_them(
    model_id: str, key: str, value: float
) -> None:
    def taken(take: Callable[[], object]) -> bool:
        try:
            take()
        except (ConfigError, MisconfiguredError):
            return False
        return True

    environment = {**MADE, "MODEL_ID": model_id, key.upper(): str(value)}
    assert taken(lambda: from_context({"model_id": model_id, key: value})) == taken(
        lambda: Settings.from_environment(environment)
    )


def test_the_api_has_the_routes_of_the_function(stack: Synthesis) -> None:
    assert {route["RouteKey"] for route in stack.resources("ApiGatewayV2::Route").values()} == set(ROUTES)


def test_the_table_has_the_keys_and_the_expiry_that_the_function_writes(stack: Synthesis) -> None:
    turn = StoredTurn(key="session", turn=1, status="awaiting_approval", waiting="direct", waiting_since="2027")
    item, table = to_item(turn), stack.resource("DynamoDB::Table")
    keys = {part["AttributeName"]: part["AttributeType"] for part in table["AttributeDefinitions"]}
    assert {name: list(item[name]) for name in keys} == {name: [kind] for name, kind in keys.items()}
    assert list(item[table["TimeToLiveSpecification"]["AttributeName"]]) == ["N"]
    assert [each["IndexName"] for each in table["GlobalSecondaryIndexes"]] == [INDEX]


@pytest.mark.parametrize(
    ("modules", "actions"),
    [(("store", "meter", "index"), {*ACTIONS, *INDEX_ACTIONS}), (("store", "meter"), {*ACTIONS})],
)
def test_the_function_may_do_with_the_table_what_its_adapters_call_and_nothing_else(
    modules: tuple[str, ...], actions: set[str]
) -> None:
    called = set()
    for module in modules:
        tree = ast.parse((SOURCE / "agent" / "adapters" / "dynamodb" / f"{module}.py").read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                called.add("dynamodb:" + node.value)
    assert called & _OPERATIONS == actions


_OPERATIONS = {
    f"dynamodb:{operation}"
    for operation in botocore.session.get_session().get_service_model("dynamodb").operation_names
}


def test_the_deployment_knows_the_function_only_as_a_path() -> None:
    for module in Path(SOURCE.parent / "infra").glob("*.py"):
        tree = ast.parse(module.read_text())
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {name for name in imported if name.partition(".")[0] in {"agent", "handler", "local", "tests"}}
