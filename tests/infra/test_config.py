"""The choices in cdk.json: each read, checked, and refused in one sentence."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from infra.choices import ConfigError
from infra.config import Config, print_table
from infra.context import CDK_JSON, choices, config_sentences, from_context
from infra.feature_flags import FEATURE_FLAGS
from tests.infra.synthesis import context

KEYS = [item.name for item in fields(Config)]


DEFAULTS = {item.name: item.default for item in fields(Config)}


def test_cdk_json_is_taken_and_holds_only_what_differs_from_the_defaults() -> None:
    chosen = json.loads(CDK_JSON.read_text(encoding="utf-8"))["context"]
    known = {**FEATURE_FLAGS, **DEFAULTS}
    assert not [key for key, value in chosen.items() if key in known and value == known[key]]
    chosen.pop("environments", None)
    assert choices() == from_context(chosen)


def test_every_default_is_a_value_that_its_key_takes() -> None:
    assert from_context(DEFAULTS) == from_context({}) == Config()


def test_what_is_given_on_the_command_line_goes_over_cdk_json_and_that_over_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "cdk.json").write_text(json.dumps({"context": {"max_steps": 3, "max_tokens": 100, "snapstart": True}}))
    config = choices({"max_steps": "4", "snapstart": True}, cdk_json=tmp_path / "cdk.json")
    assert config == replace(Config(), max_steps=4, max_tokens=100, snapstart=True)


ENVIRONMENTS = {
    "memory_mb": 2048,
    "max_steps": 4,
    "environments": {"staging": {"max_steps": 5}, "prod": {"retain_sessions": True}},
}


def chosen_from(folder: Path, given: dict[str, object]) -> Config:
    (folder / "cdk.json").write_text(json.dumps({"context": ENVIRONMENTS}))
    # The CDK hands on the file's own keys beside those of -c.
    return choices({**ENVIRONMENTS, **given}, cdk_json=folder / "cdk.json")


def test_an_environment_goes_over_the_common_choices_and_names_the_stack(tmp_path: Path) -> None:
    common = chosen_from(tmp_path, {})
    assert common == replace(Config(), memory_mb=2048, max_steps=4)
    staging = chosen_from(tmp_path, {"environment": "staging"})
    assert staging == replace(common, name="agent-staging", max_steps=5)
    assert chosen_from(tmp_path, {"environment": "staging", "max_steps": "6", "name": "mine"}) == replace(
        staging, name="mine-staging", max_steps=6
    )


@pytest.mark.parametrize(
    ("environments", "words"),
    [
        ({"staging": {}}, "environment is 'prod', but must be one of staging"),
        ({}, "environment is 'prod', but must be one of those in `environments`: there are none"),
        ({"prod": {"name": "mine"}}, "environments.prod.name is 'mine', but must be left out"),
        ({"prod": 5}, "environments is .* an object of names"),
        ({"prod": {"max_step": 5}}, "max_step is 5, .* did you mean max_steps"),
    ],
)
def test_an_environment_that_cannot_be_is_told(tmp_path: Path, environments: dict[str, Any], words: str) -> None:
    (tmp_path / "cdk.json").write_text(json.dumps({"context": {"environments": environments}}))
    with pytest.raises(ConfigError, match=words):
        choices({"environment": "prod"}, cdk_json=tmp_path / "cdk.json")


def test_null_in_cdk_json_unsets_a_default_although_the_cdk_hands_on_no_null(tmp_path: Path) -> None:
    (tmp_path / "cdk.json").write_text('{"context": {"alarm_tokens_per_day": null}}')
    assert choices({"name": "mine"}, cdk_json=tmp_path / "cdk.json").alarm_tokens_per_day is None


def test_the_choices_are_read_without_the_cdk() -> None:
    code = "import sys; from infra.context import choices; choices().environment(); print('aws_cdk' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=CDK_JSON.parent, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_every_choice_is_explained() -> None:
    assert all(item.metadata["meaning"] and item.metadata["rule"].allowed for item in fields(Config))


def test_what_the_command_line_gives_as_text_means_the_same_as_json() -> None:
    def as_text(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    assert from_context({key: as_text(value) for key, value in DEFAULTS.items() if value is not None}) == Config()


def test_an_empty_text_unsets_a_choice_but_chooses_no_tools() -> None:
    config = from_context(context(turn_token_limit="", tools=""))
    assert config.turn_token_limit is None
    assert config.tools == ()
    assert config.environment()["TOOLS"] == ""


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
    ("tools", "_shared"),
    ("tools", {"fortune": True}),
    ("http_timeout_seconds", 29),
    ("cors_origins", "*"),
    ("cors_origins", "https://example.com/path"),
    ("log_content", "yes"),
    ("auth", "None"),
    ("jwt_issuer", "http://example.com"),
    ("kms_key", "alias/mine"),
    ("tags", {"aws:mine": "x"}),
    ("tags", {"team": 5}),
    ("tags", "team=support"),
    ("session_table", "a table"),
    ("memory_mb", 128),
    ("timeout_seconds", 901),
    ("architecture", "arm"),
    ("log_retention_days", 31),
    ("alarm_topic", "mine"),
    ("approval_topic", "mine"),
    ("alarm_email", "mine"),
    ("price_input", "-1"),
    ("fallback_model_ids", "one,,two words"),
    ("model_request_fields", "[1]"),
    ("model_request_fields", "{"),
    ("model_request_fields", '{"x": NaN}'),
    ("model_request_fields", {"x": float("inf")}),
    ("approvers", "alice"),
    ("prompt_caching", "yes"),
    ("model_family", "claude"),
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
    ({"model_id": "amazon.nova-lite-v1:0", "temperature": 0.5, "top_p": 0.5}, "top_p"),
    ({"temperature": 0.5}, "temperature"),
    ({"alarm_email": "me@example.com", "alarm_topic": "arn:aws:sns:us-east-1:123456789012:alarms"}, "alarm_email"),
    ({"approvers": ["0" * 32] * 140}, "approvers"),
    ({"model_id": "openai/gpt-oss-120b"}, "model_id"),
    ({"model_id": "qwen2.5:7b"}, "model_id"),
    ({"fallback_model_ids": "gpt-5"}, "fallback_model_ids"),
    ({"model_provider": "openai", "openai_base_url": "https://models.example.com/v1"}, "model_id"),
    ({"guardrail_id": "abc"}, "guardrail_version"),
    ({"guardrail_version": "1"}, "guardrail_version"),
    ({"auth": "jwt"}, "auth"),
    ({"jwt_scopes": "ask"}, "jwt_scopes"),
    ({"session_table": "agent-Sessions", "kms_key": "create"}, "kms_key"),
    ({"auth": "jwt", "jwt_issuer": "https://example.com"}, "auth"),
    ({"application_profile_model": "amazon.nova-lite-v1:0"}, "application_profile_model"),
    ({"model_provider": "openai"}, "model_provider"),
    ({"openai_base_url": "http://localhost:11434/v1"}, "openai_base_url"),
    ({"openai_api_key_secret": "models/key"}, "openai_api_key_secret"),
    (
        {
            "model_provider": "openai",
            "model_id": "qwen2.5:7b",
            "openai_base_url": "https://models.example.com/v1",
            "guardrail_id": "abc",
            "guardrail_version": "1",
        },
        "guardrail_id",
    ),
]


@pytest.mark.parametrize(("chosen", "key"), TOGETHER)
def test_choices_that_do_not_go_together_are_told(chosen: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError, match=f"^{key} is "):
        from_context(context(**chosen))


def test_the_ids_of_bedrocks_own_openai_endpoint_are_taken() -> None:
    endpoint = "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1"
    chosen = {"model_provider": "openai", "openai_base_url": endpoint, "model_id": "openai.gpt-oss-120b-1:0"}
    assert from_context(chosen).model_id == "openai.gpt-oss-120b-1:0"


def test_a_long_value_is_told_only_as_far_as_it_is_known_again() -> None:
    with pytest.raises(
        ConfigError, match=r"…, but must be shorter: .* 4,\d\d\d bytes, and Lambda takes 4,096"
    ) as caught:
        from_context({"approvers": ["0" * 32] * 130})
    assert len(str(caught.value)) < 500


def test_all_mistakes_are_told_at_once_each_on_its_line_and_none_twice() -> None:
    wrong = {
        "max_step": 3,
        "max_tokens": 0,
        "tools": 5,
        "auth": "jwt",
        "temperature": 7,
        "top_p": 0.5,
        "model_id": "us.amazon.nova-lite-v1:0",
        "kms_key": "arn:aws:kms:us-east-1:123456789012:key/12345678-1234-1234-1234-123456789012",
    }
    with pytest.raises(ConfigError) as caught:
        from_context(wrong, "eu-west-1")
    keys = [line.split(" is ")[0] for line in str(caught.value).splitlines()]
    assert keys == ["max_step", "max_tokens", "tools", "temperature", "auth", "model_id", "kms_key"]
    assert "did you mean max_steps?\n" in str(caught.value)


def test_a_cdk_json_that_is_none_is_told_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "cdk.json"
    path.write_text('{"context": {"max_steps": 3,}}')
    with pytest.raises(ConfigError) as caught:
        choices(cdk_json=path)
    told = config_sentences(caught.value)
    assert told.startswith("cdk.json can't be read: ")
    assert re.search(r"\(char \d+\)\.$", told)


@pytest.mark.parametrize(
    ("key", "arn"),
    [
        ("alarm_topic", "arn:aws:sns:eu-west-1:123456789012:alarms"),
        ("approval_topic", "arn:aws:sns:eu-west-1:123456789012:approvals"),
        ("kms_key", "arn:aws:kms:eu-west-1:123456789012:key/12345678-1234-1234-1234-123456789012"),
        ("secret_kms_key", "arn:aws:kms:eu-west-1:123456789012:key/12345678-1234-1234-1234-123456789012"),
        ("model_id", "arn:aws:bedrock:eu-west-1:123456789012:provisioned-model/abc123"),
        ("fallback_model_ids", "arn:aws:bedrock:eu-west-1:123456789012:provisioned-model/abc123"),
    ],
)
def test_an_arn_of_another_region_than_the_stacks_is_told(key: str, arn: str) -> None:
    assert from_context({key: arn}) == from_context({key: arn}, "eu-west-1")
    with pytest.raises(ConfigError, match=f"^{key} is '{arn}', but must be in the region of the stack, us-east-1"):
        from_context({key: arn}, "us-east-1")


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
    config = from_context(context(model_id="a.one", fallback_model_ids="a.two, a.one, a.three, a.two"))
    assert config.model_ids == ("a.one", "a.two", "a.three")
    assert config.environment()["FALLBACK_MODEL_IDS"] == "a.two,a.one,a.three,a.two"


def test_the_table_of_keys_names_each_that_the_function_does_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    print_table()
    keys = [item.name for item in fields(Config) if not item.metadata["setting"]]
    assert re.findall(r"^\| `(\w+)` \|", capsys.readouterr().out, re.MULTILINE) == keys


def test_the_app_runs_on_the_projects_own_python_or_else_on_python3() -> None:
    words = shlex.split(json.loads(CDK_JSON.read_text())["app"].replace("$(", "").replace(")", ""))
    assert words[0] == "test"
    assert {".venv/bin/python", "python3", "app.py"} <= set(words)
