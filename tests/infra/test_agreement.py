"""The deployment and the function agree, although neither imports the other: settings, routes, names."""

import ast
from dataclasses import fields, replace
from pathlib import Path

from agent.settings import Settings
from infra.bundling import SOURCE
from infra.config import Config, from_context
from tests.infra.synthesis import Synthesis, context

# Set by the stack itself, from what it makes.
MADE = {"TABLE_NAME": "table"}


def read_by_settings() -> set[str]:
    """Environment variables that settings.py reads, as the first argument of a call."""
    tree = ast.parse((SOURCE / "agent" / "settings.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    firsts = [call.args[0] for call in calls]
    texts = {node.value for node in firsts if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {text for text in texts if text.isidentifier() and text.isupper()}


def test_every_setting_of_the_function_is_a_choice_and_every_choice_handed_on_is_a_setting() -> None:
    ours = {item.name.upper() for item in fields(Config) if item.metadata["setting"]}
    assert ours | set(MADE) == read_by_settings()


def test_deploying_cdk_json_as_it_stands_gives_the_functions_own_defaults(stack: Synthesis) -> None:
    required = {"MODEL_ID": stack.environment()["MODEL_ID"], **MADE}
    assert Settings.from_environment({**stack.environment(), **MADE}) == Settings.from_environment(required)


def test_whatever_can_be_chosen_is_taken_by_the_function() -> None:
    config = replace(
        from_context(context()),
        tools=("fortune",),
        temperature=0.25,
        turn_token_limit=50_000,
        cors_origins=("https://example.com", "http://localhost:3000"),
        log_content=True,
        caller_identity="role",
        guardrail_id="abc123",
        guardrail_version="DRAFT",
    )
    settings = Settings.from_environment({**config.environment(), **MADE})
    for name in ("tools", "temperature", "turn_token_limit", "cors_origins", "log_content", "caller_identity"):
        assert getattr(settings, name) == getattr(config, name)
    assert (settings.guardrail_id, settings.guardrail_version) == ("abc123", "DRAFT")


def test_the_deployment_knows_the_function_only_as_a_path() -> None:
    for module in Path(SOURCE.parent / "infra").glob("*.py"):
        tree = ast.parse(module.read_text())
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {name for name in imported if name.partition(".")[0] in {"agent", "handler", "local", "tests"}}
