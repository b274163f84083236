"""Choices that are fine by themselves but not together, or not in the region: each is told, and all at once."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields

from infra.choices import ConfigError
from infra.config import Config
from infra.permissions import check_region
from infra.regions import MISSING
from infra.values import USER_POOL

# "Lambda quotas" in the Lambda Developer Guide: all environment variables of a function together, in bytes.
LARGEST_ENVIRONMENT = 4096
# TABLE_NAME, whose value CloudFormation makes of the stack's name, the construct's and a random part.
TABLE_NAME_BYTES = len("TABLE_NAME" + "-SessionsTable01234567-0123456789ABC")
# A provider, a dot and a model, behind the geography of a profile. Other endpoints have names, versions and paths.
BEDROCK_ID = r"arn:.+|([a-z-]+\.)?[a-z][a-z0-9]*\.[a-z][A-Za-z0-9.:_-]*"


def problems(config: Config, region: str | None) -> Iterator[ConfigError]:
    """What is wrong, each with the key to change; `region` is None where it isn't known yet."""
    yield from _in_general(config)
    yield from _of_the_provider(config)
    yield from _of_the_environment(config)
    if region:
        yield from in_region(config, region)


def in_region(config: Config, region: str) -> Iterator[ConfigError]:
    """What can't be used from the region, or isn't there in it."""
    for key, value in _texts(config):
        if value.startswith("arn:") and value.split(":")[3] not in ("", region):
            yield ConfigError(key, value, f"in the region of the stack, {region}")
        elif key in ("model_id", "fallback_model_ids") and config.model_provider == "bedrock":
            try:
                check_region(value, region, key=key)
            except ConfigError as error:
                yield error
    for key, regions in MISSING.values():
        value = getattr(config, key)
        if region in regions and value not in (False, "off"):
            yield ConfigError(
                key, value, f"{'off' if isinstance(value, str) else 'false'} in {region}, which has no such thing"
            )


def takes_no_sampling(model_id: str) -> bool:
    """Whether it is Claude 4.7 or later, as the function's own settings have it."""
    found = re.search(r"claude-(?:opus|sonnet|haiku|fable)-([0-9])(?:-([0-9])(?![0-9]))?(?![0-9])", model_id)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= (4, 7)


def _texts(config: Config) -> Iterator[tuple[str, str]]:
    """Every text of the configuration, alone or in a list, with its key."""
    for item in fields(config):
        value = getattr(config, item.name)
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str):
                yield item.name, text


def _in_general(config: Config) -> Iterator[ConfigError]:
    if config.temperature is not None and config.top_p is not None:
        yield ConfigError("top_p", config.top_p, "null where temperature is set")
    for key in ("temperature", "top_p"):
        if getattr(config, key) not in (None, 1) and any(map(takes_no_sampling, config.model_ids)):
            yield ConfigError(key, getattr(config, key), "null for Claude 4.7 and later, which takes only 1")
    if (config.guardrail_id is None) != (config.guardrail_version is None):
        yield ConfigError("guardrail_version", config.guardrail_version, "set where guardrail_id is, and only there")
    if "shell" in (config.tools or ()):
        allowed = "without shell, which runs commands: it is for your own machine"
        yield ConfigError("tools", ",".join(config.tools or ()), allowed)
    if config.auth == "jwt" and not (config.jwt_issuer and config.jwt_audience):
        yield ConfigError("auth", config.auth, "given together with jwt_issuer and jwt_audience, or be iam or none")
    if config.auth == "jwt" and config.api == "rest" and not re.fullmatch(USER_POOL, str(config.jwt_issuer)):
        yield ConfigError("jwt_issuer", config.jwt_issuer, "a Cognito user pool: a REST API takes no other tokens")
    if config.jwt_scopes and config.auth != "jwt":
        yield ConfigError("jwt_scopes", config.jwt_scopes, "null unless auth is jwt")
    if config.session_table and config.kms_key == "create":
        yield ConfigError(
            "kms_key", config.kms_key, "the ARN of its key where session_table is a table that is there already"
        )
    if config.application_profile_model and ":application-inference-profile/" not in config.model_id:
        allowed = "null unless model_id is an application inference profile's ARN"
        yield ConfigError("application_profile_model", config.application_profile_model, allowed)
    if config.alarm_email and config.alarm_topic:
        yield ConfigError(
            "alarm_email", config.alarm_email, "null where alarm_topic is set, which can have subscribers"
        )


def _of_the_provider(config: Config) -> Iterator[ConfigError]:
    openai = config.model_provider == "openai"
    if openai and not config.openai_base_url:
        yield ConfigError("model_provider", config.model_provider, "given together with openai_base_url")
    if openai and config.guardrail_id is not None:
        yield ConfigError("guardrail_id", config.guardrail_id, "null unless model_provider is bedrock")
    for key in ("openai_base_url", "openai_api_key_secret"):
        if not openai and getattr(config, key) is not None:
            yield ConfigError(key, getattr(config, key), "null unless model_provider is openai")
    for model_id in config.model_ids:
        key = "model_id" if model_id == config.model_id else "fallback_model_ids"
        of_bedrock = re.fullmatch(BEDROCK_ID, model_id) is not None
        # Bedrock has an endpoint of that kind too, with ids of its own.
        if openai and of_bedrock and "amazonaws.com" not in (config.openai_base_url or ""):
            yield ConfigError(key, model_id, "a model of the endpoint at openai_base_url: this is an id of Bedrock")
        if not openai and not of_bedrock:
            allowed = "an id of Bedrock, such as amazon.nova-lite-v1:0, unless model_provider is openai"
            yield ConfigError(key, model_id, allowed)


def _of_the_environment(config: Config) -> Iterator[ConfigError]:
    variables = config.environment()
    told = too_large(variables, config.name)
    if told:
        longest = max(variables, key=lambda name: len(variables[name])).lower()
        yield ConfigError(longest, getattr(config, longest), f"shorter: {told}")


def too_large(variables: Mapping[str, str], stack: str) -> str:
    """Why these variables, beside the table's name, can't be a function's environment; blank where they can."""
    size = TABLE_NAME_BYTES + len(stack) + sum(len((name + text).encode()) for name, text in variables.items())
    if size <= LARGEST_ENVIRONMENT:
        return ""
    return f"the function's environment would have {size:,} bytes, and Lambda takes {LARGEST_ENVIRONMENT:,}"
