"""From cdk.json to the choices: read, checked one by one and together."""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from infra.choices import ConfigError, Rule
from infra.config import Config

CDK_JSON = Path(__file__).parent.parent / "cdk.json"
# The alarms add up two metrics of each model, and CloudWatch takes ten an alarm.
MOST_FALLBACKS = 4


def choices(given: Mapping[str, object] | None = None, cdk_json: Path = CDK_JSON) -> Config:
    """The choices of cdk.json, with those given (key -> value or its text, as `-c` gives it) over them.

    Needs no CDK, so the local commands read the function's environment by it. Raises ConfigError as from_context does.
    """
    return from_context({**json.loads(cdk_json.read_text(encoding="utf-8")).get("context", {}), **(given or {})})


def from_context(context: Mapping[str, object]) -> Config:
    """The choices that a context makes; a key that it leaves out has its default.

    Raises ConfigError for an unknown key, a wrong value, and two that can't go together.
    """
    rules: dict[str, Rule] = {item.name: item.metadata["rule"] for item in fields(Config)}
    for key, value in context.items():
        # The CDK's own keys all hold a colon or a slash.
        if key not in rules and not set(key) & set(":/"):
            raise ConfigError(
                key, value, "left out: there is no such key, `python -m infra.config` lists those there are"
            )
    config = Config(**{key: _parsed(key, value, rules[key]) for key, value in context.items() if key in rules})
    _check_together(config)
    return config


def _parsed(key: str, value: object, rule: Rule) -> Any:
    try:
        return rule.parse(value)
    except (ValueError, TypeError, KeyError):
        raise ConfigError(key, value, rule.allowed) from None


def _check_together(config: Config) -> None:
    if config.temperature is not None and config.top_p is not None:
        raise ConfigError("top_p", config.top_p, "null where temperature is set")
    if (config.guardrail_id is None) != (config.guardrail_version is None):
        raise ConfigError("guardrail_version", config.guardrail_version, "set where guardrail_id is, and only there")
    if "shell" in (config.tools or ()):
        raise ConfigError(
            "tools", ",".join(config.tools or ()), "without shell, which runs commands: it is for your own machine"
        )
    if len(config.fallback_model_ids or ()) > MOST_FALLBACKS:
        raise ConfigError("fallback_model_ids", config.fallback_model_ids, f"at most {MOST_FALLBACKS} ids")
    if config.auth == "jwt" and not (config.jwt_issuer and config.jwt_audience):
        raise ConfigError("auth", config.auth, "given together with jwt_issuer and jwt_audience, or be iam or none")
    if config.application_profile_model and ":application-inference-profile/" not in config.model_id:
        raise ConfigError(
            "application_profile_model",
            config.application_profile_model,
            "null unless model_id is an application inference profile's ARN",
        )
    _check_provider(config)


def _check_provider(config: Config) -> None:
    if config.model_provider == "openai":
        if not config.openai_base_url:
            raise ConfigError("model_provider", config.model_provider, "given together with openai_base_url")
        if config.guardrail_id is not None:
            raise ConfigError("guardrail_id", config.guardrail_id, "null unless model_provider is bedrock")
        return
    for key in ("openai_base_url", "openai_api_key_secret"):
        if getattr(config, key) is not None:
            raise ConfigError(key, getattr(config, key), "null unless model_provider is openai")
