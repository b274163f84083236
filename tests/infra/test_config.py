"""The choices in cdk.json: each read, checked, and refused in one sentence."""

import json
import re
import shlex
from dataclasses import fields, replace
from typing import Any

import pytest

from infra.choices import ConfigError
from infra.config import CDK_JSON, Config, print_table
from infra.context import from_context
from tests.infra.synthesis import context

KEYS = [item.name for item in fields(Config)]


def test_every_choice_stands_in_cdk_json_and_nothing_else_does() -> None:
    ours = [key for key in context() if not set(key) & set(":/")]
    assert ours == KEYS


def test_every_choice_is_explained() -> None:
    assert all(item.metadata["meaning"] and item.metadata["rule"].allowed for item in fields(Config))


def test_what_the_command_line_gives_as_text_means_the_same_as_json() -> None:
    def as_text(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    ours = {key: as_text(value) for key, value in context().items() if key in KEYS and value is not None}
    assert from_context(context(**ours)) == from_context(context())


def test_an_empty_text_unsets_a_choice_but_chooses_no_tools() -> None:
    config = from_context(context(turn_token_limit="", tools=""))
    assert config.turn_token_limit is None
    assert config.tools == ()
    assert config.environment()["TOOLS"] == ""


def test_a_choice_that_is_left_out_is_null() -> None:
    without = {key: value for key, value in context().items() if key != "kms_key"}
    assert from_context(without) == from_context(context(kms_key=None))


WRONG: list[tuple[str, object]] = [
    ("name", "1st"),
    ("model_id", ""),
    ("model_id", None),
    ("history_pairs", -1),
    ("history_pairs", "ten"),
    ("history_pairs", True),
    ("history_pairs", 1.5),
    ("temperature", "nan"),
    ("temperature", [0.5]),
    ("tools", "Fortune"),
    ("tools", {"fortune": True}),
    ("http_timeout_seconds", 29),
    ("cors_origins", "*"),
    ("cors_origins", "https://example.com/path"),
    ("log_content", "yes"),
    ("auth", "None"),
    ("jwt_issuer", "http://example.com"),
    ("kms_key", "alias/mine"),
    ("memory_mb", 128),
    ("timeout_seconds", 901),
    ("architecture", "arm"),
    ("log_retention_days", 31),
    ("alarm_topic", "mine"),
    ("price_input", "-1"),
    ("fallback_model_ids", "one,,two words"),
    ("model_request_fields", "[1]"),
    ("model_request_fields", "{"),
    ("model_request_fields", '{"x": NaN}'),
    ("model_request_fields", {"x": float("inf")}),
    ("approvers", "alice"),
    ("prompt_caching", "yes"),
    ("model_provider", "azure"),
    ("openai_base_url", "localhost:11434"),
    ("openai_api_key_secret", "two words"),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_wrong_value_is_told_in_one_sentence_with_key_value_and_what_is_allowed(key: str, value: object) -> None:
    rule = next(item.metadata["rule"] for item in fields(Config) if item.name == key)
    with pytest.raises(ConfigError) as caught:
        from_context(context(**{key: value}))
    assert str(caught.value) == f"{key} is {value!r}, but must be {rule.allowed}"


def test_a_misspelled_key_is_told() -> None:
    with pytest.raises(ConfigError, match="histroy_pairs is 3, but must be left out"):
        from_context(context(histroy_pairs=3))


TOGETHER: list[tuple[dict[str, Any], str]] = [
    ({"tools": "fortune,shell"}, "tools"),
    ({"temperature": 0.5, "top_p": 0.5}, "top_p"),
    ({"guardrail_id": "abc"}, "guardrail_version"),
    ({"guardrail_version": "1"}, "guardrail_version"),
    ({"auth": "jwt"}, "auth"),
    ({"auth": "jwt", "jwt_issuer": "https://example.com"}, "auth"),
    ({"application_profile_model": "amazon.nova-lite-v1:0"}, "application_profile_model"),
    ({"fallback_model_ids": "a,b,c,d,e"}, "fallback_model_ids"),
    ({"model_provider": "openai"}, "model_provider"),
    ({"openai_base_url": "http://localhost:11434/v1"}, "openai_base_url"),
    ({"openai_api_key_secret": "models/key"}, "openai_api_key_secret"),
    (
        {
            "model_provider": "openai",
            "openai_base_url": "https://models.example.com/v1",
            "guardrail_id": "abc",
            "guardrail_version": "1",
        },
        "guardrail_id",
    ),
]


@pytest.mark.parametrize(("choices", "key"), TOGETHER)
def test_choices_that_do_not_go_together_are_told(choices: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=f"^{key} is "):
        from_context(context(**choices))


def test_settings_reach_the_function_under_their_names_as_text() -> None:
    config = replace(from_context(context()), tools=("fortune", "arithmetic"), temperature=0.5, log_content=True)
    environment = config.environment()
    assert environment["TOOLS"] == "fortune,arithmetic"
    assert environment["TEMPERATURE"] == "0.5"
    assert environment["LOG_CONTENT"] == "true"
    assert "TOP_P" not in environment


def test_an_object_is_the_same_as_json_and_as_text_of_the_command_line() -> None:
    given = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    as_json, as_text = (from_context(context(model_request_fields=it)) for it in (given, json.dumps(given)))
    assert as_json == as_text
    assert json.loads(as_json.environment()["MODEL_REQUEST_FIELDS"]) == given


def test_models_are_asked_in_order_and_each_once() -> None:
    config = from_context(context(model_id="one", fallback_model_ids="two, one, three, two"))
    assert config.model_ids == ("one", "two", "three")
    assert config.environment()["FALLBACK_MODEL_IDS"] == "two,one,three,two"


def test_the_table_of_keys_names_each(capsys: pytest.CaptureFixture[str]) -> None:
    print_table()
    assert re.findall(r"^\| `(\w+)` \|", capsys.readouterr().out, re.MULTILINE) == KEYS


def test_the_app_runs_on_the_projects_own_python_or_else_on_python3() -> None:
    words = shlex.split(json.loads(CDK_JSON.read_text())["app"].replace("$(", "").replace(")", ""))
    assert words[0] == "test"
    assert {".venv/bin/python", "python3", "app.py"} <= set(words)
