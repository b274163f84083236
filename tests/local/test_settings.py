"""The settings that the local function starts with."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.config import Config
from local.problem import ProblemError
from local.settings import Start, start_from
from local.stack import Choices, local_stack

MODEL_CHOICES = {
    "model_id": "qwen3:8b",
    "model_provider": "openai",
    "openai_base_url": "http://models.example/v1",
    "model_tool_use": "react",
    "fallback_model_ids": ["other"],
}


@pytest.fixture
def cdk_json(tmp_path: Path) -> Path:
    return tmp_path / "cdk.json"


def start(cdk_json: Path, context: dict[str, Any], **settings: str) -> Start:
    cdk_json.write_text(json.dumps({"context": context}))
    return start_from(settings, cdk_json.parent, cdk_json=cdk_json)


def test_it_starts_from_cdk_json_and_the_defaults(cdk_json: Path) -> None:
    environment = start(cdk_json, {"max_steps": 3, "tools": ["*", "calculator"]}).environment(None, {})
    expected = Config(max_steps=3, tools=("*", "calculator")).environment()
    assert (environment["MAX_STEPS"], environment["TOOLS"]) == ("3", "*,calculator")
    assert environment.items() <= expected.items()


@pytest.mark.parametrize(("provider", "counts"), [(None, False), ("bedrock", False), ("openai", True)])
def test_model_and_provider_count_only_where_that_provider_is_asked(
    cdk_json: Path, provider: str | None, counts: bool
) -> None:
    environment = start(cdk_json, MODEL_CHOICES | {"max_tokens": 99}).environment(provider, {})
    assert {key: key.upper() in environment for key in MODEL_CHOICES} == dict.fromkeys(MODEL_CHOICES, counts)
    assert environment["MAX_TOKENS"] == "99"


def test_what_is_given_is_kept_apart_and_goes_by_key_or_variable(cdk_json: Path) -> None:
    given = start(cdk_json, {"max_steps": 3}, max_steps="4", TOOLS="", POWERTOOLS_LOG_LEVEL="DEBUG").given
    assert given == {"MAX_STEPS": "4", "TOOLS": "", "POWERTOOLS_LOG_LEVEL": "DEBUG"}


def test_a_choice_of_the_deployment_alone_is_checked_as_there(cdk_json: Path) -> None:
    assert start(cdk_json, {}, timeout_seconds="60").config.timeout_seconds == 60
    with pytest.raises(
        ProblemError, match=r"cdk\.json or --set: memory_mb is '5', but must be a whole number from 256"
    ):
        start(cdk_json, {}, memory_mb="5")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("MAXSTEPS", "MAX_STEPS"),
        ("max_step", "max_steps"),
        ("TOOL_TIMEOUT", "TOOL_TIMEOUT_SECONDS"),
        ("MEMORY_MB", "[A-Z_]+"),
        ("Max_Steps", "MAX_STEPS"),
        ("TABLE_NAME", "[A-Z_]+"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_known_one(cdk_json: Path, name: str, nearest: str) -> None:
    with pytest.raises(ProblemError, match=rf"^There is no setting {name}: {nearest} is the nearest\.$"):
        start(cdk_json, {}, **{name: "3"})


def test_what_stands_beside_a_module_of_ones_own_is_set_where_the_module_is_offered(cdk_json: Path) -> None:
    tools = cdk_json.parent / "my_agent" / "tools"
    tools.mkdir(parents=True)
    (tools / "orders.py").write_text("")
    (tools / "orders.toml").write_text('[environment]\nORDERS_TABLE = "orders"\n[secrets]\nORDERS_KEY = "orders/key"\n')
    shipped = cdk_json.parent / "agent" / "tools"
    shipped.mkdir(parents=True)
    (shipped / "tickets.py").write_text("")
    (shipped / "tickets.toml").write_text('[environment]\nTICKETS_TABLE = "agent-tickets"\n')
    begun = start(cdk_json, {"tools": ["orders", "tickets"]}, ORDERS_KEY="mine")
    assert begun.environment(None, {})["ORDERS_TABLE"] == "orders"
    assert "TICKETS_TABLE" not in begun.environment(None, {})
    assert begun.environment(None, {"ORDERS_TABLE": "test"})["ORDERS_TABLE"] == "test"
    assert begun.given == {"ORDERS_KEY": "mine"}
    assert "ORDERS_TABLE" not in start(cdk_json, {}, TOOLS="tickets").environment(None, {})
    assert "ORDERS_TABLE" in start(cdk_json, {}).environment(None, {})


def test_a_file_beside_a_module_that_a_deployment_would_refuse_is_told(cdk_json: Path) -> None:
    tools = cdk_json.parent / "my_agent" / "tools"
    tools.mkdir(parents=True)
    (tools / "orders.py").write_text("")
    (tools / "orders.toml").write_text("[environment")
    with pytest.raises(ProblemError, match=r"orders\.toml"):
        start(cdk_json, {})


def test_a_variable_that_a_tool_reads_is_known(cdk_json: Path) -> None:
    tools = cdk_json.parent / "my_agent" / "tools"
    tools.mkdir(parents=True)
    (tools / "orders.py").write_text("import os\nurl = os.environ[\"ORDERS_URL\"], os.getenv('REGION')\n")
    names = {"ORDERS_URL": "http://x", "REGION": "eu"}
    assert start(cdk_json, {}, **names).given == names


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", r"^cdk\.json can't be read: .* line 1 column 2 \(char 1\)\.$"),
        ('{"context": []}', r"^cdk\.json can't be read: it must be an object, and so must its context\.$"),
        ("[]", "it must be an object"),
        ('{"context": {"max_stepz": 1}}', "max_stepz is 1, but must be left out"),
        (
            '{"context": {"max_stepz": 1, "xyz": 2}}',
            r"did you mean max_steps\?\ncdk\.json or --set: xyz is 2, .* lists those there are\.$",
        ),
    ],
)
def test_a_wrong_cdk_json_is_told_in_a_sentence(cdk_json: Path, text: str, told: str) -> None:
    cdk_json.write_text(text)
    with pytest.raises(ProblemError, match=told):
        start_from({}, cdk_json.parent, cdk_json=cdk_json)


def test_the_environment_of_the_developer_goes_over_cdk_json_and_what_is_given_over_both(
    choices: Choices, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_stack(choices) as stack:
        assert stack.function.invoke({"question": "?"})[0]["pairs"] == Config().environment()["HISTORY_PAIRS"]
    monkeypatch.setenv("HISTORY_PAIRS", "7")
    with local_stack(choices) as stack:
        assert stack.function.invoke({"question": "?"})[0]["pairs"] == "7"
    with local_stack(replace(choices, settings={"history_pairs": "8"})) as stack:
        assert stack.function.invoke({"question": "?"})[0]["pairs"] == "8"
