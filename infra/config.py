"""Every choice of a deployment: its key in cdk.json, its value where cdk.json says nothing, what it takes and what it means.

`python -m infra.config` prints the keys as a table.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from infra import values
from infra.choices import Rule, flag, json_object, number, one_of, optional, texts_by_name, whole, whole_of
from infra.default_model import default_model


def choice(default: object, rule: Rule, meaning: str, *, setting: bool = False) -> Any:
    """A field of Config: its default, what its key takes, what it means, and whether the function reads it as a setting."""
    return field(default=default, metadata={"rule": rule, "meaning": meaning, "setting": setting})


def setting(default: object, rule: Rule, meaning: str) -> Any:
    """A choice that the function reads as a setting."""
    return choice(default, rule, meaning, setting=True)


@dataclass(frozen=True)
class Config:
    """All choices. A field's name is its key; a setting's variable is that name in capitals."""

    # What is deployed
    name: str = choice(
        "agent", values.NAME, "name of the stack and its metrics; stacks of different names live side by side"
    )
    tags: Mapping[str, str] | None = choice(None, optional(texts_by_name()), "tags of everything in the stack")
    # The model
    model_id: str = setting(
        default_model(None),
        values.MODEL,
        "model or inference profile that answers; in GovCloud the default is its profile there",
    )
    fallback_model_ids: tuple[str, ...] | None = setting(
        None,
        optional(values.MODELS),
        "models that are asked, in this order, where the one before is throttled, unavailable or in error",
    )
    application_profile_model: str | None = choice(
        None,
        optional(values.FOUNDATION_MODEL),
        "the foundation model behind model_id, if that is an application inference profile: the function may call no other",
    )
    model_request_fields: str | None = setting(
        None, optional(json_object()), "what else the model is asked with, such as extended thinking"
    )
    guardrail_id: str | None = setting(None, optional(values.GUARDRAIL), "guardrail that reads questions and answers")
    guardrail_version: str | None = setting(None, optional(values.GUARDRAIL_VERSION), "its version")
    guardrail_kms_key: str | None = choice(None, optional(values.KEY), "the guardrail's own KMS key, if it has one")
    prompt_caching: str = setting("off", one_of("off", "auto"), "auto: models that can are asked to cache what repeats")
    model_family: str | None = setting(
        None,
        optional(one_of("anthropic", "nova", "meta", "mistral", "other")),
        "the family of models whose ids don't say it, such as application inference profiles",
    )
    model_provider: str = setting(
        "bedrock", one_of("bedrock", "openai"), "Bedrock, or any endpoint with OpenAI's chat completions"
    )
    model_tool_use: str = setting(
        "native", one_of("native", "react"), "react: tools for models that know none, by a ReAct prompt"
    )
    openai_base_url: str | None = setting(None, optional(values.URL), "that endpoint, for model_provider=openai")
    openai_api_key_secret: str | None = setting(
        None, optional(values.SECRET), "the secret in Secrets Manager that holds its key"
    )
    secret_kms_key: str | None = choice(
        None, optional(values.KEY), "the own KMS key of secrets that the function reads, if they have one"
    )
    # Turns
    history_pairs: int = setting(10, whole(0, 1000), "earlier question and answer pairs that the model sees")
    max_steps: int = setting(10, whole(1, 1000), "model calls in a turn")
    max_tokens: int = setting(4096, whole(1, 1_000_000), "tokens of one model answer")
    temperature: float | None = setting(None, optional(number(0, 1)), "sampling temperature; not with top_p")
    top_p: float | None = setting(None, optional(number(0, 1)), "nucleus sampling; not with temperature")
    turn_token_limit: int | None = setting(
        None, optional(whole(1, 1_000_000_000)), "input and output tokens of one turn"
    )
    caller_daily_tokens: int | None = setting(
        None, optional(whole(1, 10**15)), "tokens that one caller may use in a day"
    )
    history_tokens: int | None = setting(
        None, optional(whole(1, 1_000_000_000)), "tokens that earlier turns may cost in a request"
    )
    tools: tuple[str, ...] | None = setting(
        None,
        optional(values.TOOLS, empty_is_null=False),
        "tool modules, * for all of your own; null means *, empty none",
    )
    tool_timeout_seconds: float = setting(20, number(0.001, 900), "time of one tool use")
    tool_result_max_chars: int = setting(20_000, whole(1, 10_000_000), "length of one tool result")
    max_tool_uses_per_step: int = setting(32, whole(1, 1000), "tool uses in a step that are run")
    max_parallel_tools: int = setting(8, whole(1, 100), "tool uses that run at the same time")
    approvers: tuple[str, ...] | None = setting(
        None, optional(values.CALLERS), "who alone may approve tool uses over HTTP"
    )
    approval_ttl_seconds: int = setting(86_400, whole(1, 31_536_000), "time for an approval")
    approval_topic: str | None = setting(None, optional(values.TOPIC), "SNS topic that is told when something waits")
    session_ttl_days: int = setting(30, whole(1, 36_500), "days after which a turn is deleted")
    http_timeout_seconds: int = setting(
        28, whole(1, 28), "time of a turn that came through the API, which gives up at 29 s"
    )
    caller_identity: str = setting(
        "session",
        one_of("session", "role"),
        "whether sessions of an assumed role belong to the role session or to the whole role",
    )
    cors_origins: tuple[str, ...] | None = setting(
        None, optional(values.ORIGINS), "origins whose pages may call the API"
    )
    streaming: bool = setting(
        False, flag(), "whether answers stream: of the function URL, a REST API, and direct invocations that ask for it"
    )
    log_content: bool = setting(False, flag(), "whether logs may hold what users, tools and the model said")
    # The API
    api: str = choice("http", one_of("http", "rest"), "an HTTP API, or a REST API, which can stream")
    auth: str = choice(
        "iam", one_of("iam", "jwt", "none"), "who may call the API: SigV4, tokens of an issuer, or anyone"
    )
    jwt_issuer: str | None = choice(None, optional(values.HTTPS_URL), "issuer for auth=jwt")
    jwt_audience: tuple[str, ...] | None = choice(None, optional(values.WORDS), "audiences for auth=jwt")
    jwt_scopes: tuple[str, ...] | None = choice(
        None, optional(values.WORDS), "scopes of which a token must have one, for auth=jwt"
    )
    api_requests_per_second: int = choice(10, whole(1, 10_000), "requests that the API lets through, on average")
    api_burst: int = choice(20, whole(1, 5_000), "requests that it lets through at once")
    function_url: bool = choice(
        False, flag(), "a function URL (SigV4) beside the API, for turns longer than its 29 s, and for streams"
    )
    # Sessions
    retain_sessions: bool = choice(False, flag(), "whether the table stays when the stack is destroyed")
    deletion_protection: bool = choice(
        False, flag(), "whether stack and table can't be deleted before this is false again"
    )
    session_table: str | None = choice(
        None,
        optional(values.TABLE),
        "a table that is there already, as of a stack that was destroyed, instead of a new one",
    )
    kms_key: str | None = choice(
        None, optional(values.NEW_KEY), "own KMS key for table, logs, failure queue and environment; null for AWS's own"
    )
    # The function
    memory_mb: int = choice(512, whole(256, 10_240), "memory; processor time grows with it")
    timeout_seconds: int = choice(
        120, whole(30, 900), "time of an invocation, for turns that don't come through the API"
    )
    architecture: str = choice("arm64", one_of("arm64", "x86_64"), "processor")
    snapstart: bool = choice(False, flag(), "start from a snapshot: a version and an alias are made at each change")
    tracing: bool = choice(True, flag(), "active tracing with X-Ray")
    reserved_concurrency: int | None = choice(
        None,
        optional(whole(1, 10_000)),
        "invocations at the same time, reserved and at most; new accounts have little to reserve",
    )
    log_retention_days: int = choice(30, whole_of(values.LOG_RETENTION_DAYS), "days that logs are kept")
    pyc: str = choice(
        "auto",
        one_of("auto", "require", "off"),
        "compiled files in the bundle, for half the cold start: where a "
        "Python of the function's version is found, or else stop, or never",
    )
    sdk: str = choice(
        "runtime",
        one_of("runtime", "bundle"),
        "AWS's SDK for your tools: the one that Lambda's runtime has, or the locked one in the bundle",
    )
    bundle_for: str = choice(
        "lambda", one_of("lambda", "machine"), "machine bundles for this processor and Python, to run it here"
    )
    test_events: str = choice(
        "off",
        one_of("off", "create", "existing"),
        "events/ in the console's Test tab; their registry is one per account and region: "
        "create has `make deploy` make it where it isn't there, existing takes it to be there",
    )
    cdk_nag: bool = choice(True, flag(), "whether cdk-nag's rules stop a synth whose findings nobody acknowledged")
    # Watching
    alarm_email: str | None = choice(
        None, optional(values.EMAIL), "who is told of alarms, once the subscription was confirmed"
    )
    alarm_topic: str | None = choice(None, optional(values.TOPIC), "where alarms go, instead of an e-mail")
    alarm_tokens_per_day: int | None = choice(
        5_000_000, optional(whole(1, 10**12)), "tokens a day above which an alarm goes off"
    )
    price_input: float = choice(0.1, number(0, 10_000), "USD for a million input tokens, for the dashboard")
    price_output: float = choice(0.5, number(0, 10_000), "USD for a million output tokens")
    price_cache_read: float = choice(0.01, number(0, 10_000), "USD for a million tokens read from the cache")
    price_cache_write: float = choice(0.125, number(0, 10_000), "USD for a million tokens written to the cache")

    @property
    def model_ids(self) -> tuple[str, ...]:
        """All models that may answer, each once, in the order in which they are asked."""
        return tuple(dict.fromkeys((self.model_id, *(self.fallback_model_ids or ()))))

    def environment(self) -> dict[str, str]:
        """The function's environment but for what the stack makes (the table) and what single tools bring."""
        settings = {item.name: getattr(self, item.name) for item in fields(self) if item.metadata["setting"]}
        named = {"POWERTOOLS_SERVICE_NAME": self.name, "POWERTOOLS_METRICS_NAMESPACE": self.name}
        if not self.tracing:
            named["POWERTOOLS_TRACE_DISABLED"] = "true"
        return named | {name.upper(): _text(value) for name, value in settings.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return ",".join(value) if isinstance(value, tuple) else str(value)


# The function's own variables: the settings, and what the stack sets from what it makes.
SETTINGS = (
    *(item.name.upper() for item in fields(Config) if item.metadata["setting"]),
    "TABLE_NAME",
    "APPROVAL_TOPIC",
)


def print_table() -> None:
    """Prints the keys that the function doesn't read as a Markdown table; docs/reference.md tells of its settings."""
    print("| key | default | takes | meaning |\n| --- | --- | --- | --- |")
    for item in (each for each in fields(Config) if not each.metadata["setting"]):
        value, rule = json.dumps(item.default), item.metadata["rule"]
        print(f"| `{item.name}` | `{value}` | {rule.allowed} | {item.metadata['meaning']} |")


if __name__ == "__main__":
    print_table()
