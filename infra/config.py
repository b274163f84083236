"""Every choice of a deployment: its key in cdk.json, what it takes and what it means. `-c key=value` overrides a key.

The values stand in cdk.json alone, so no field here has a default. `python -m infra.config` prints the keys as a table.
"""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from infra.choices import Rule, flag, json_object, list_of, matching, number, one_of, optional, whole, whole_of

CDK_JSON = Path(__file__).parent.parent / "cdk.json"
LOG_RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653)
ARN = "arn:aws[a-z-]*:{}:[a-z0-9-]*:[0-9]*:.+"
KMS_KEY = "arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/(mrk-)?[0-9a-f-]{32,36}"
ORIGIN = "https?://[A-Za-z0-9.-]+(:[0-9]+)?"
MODEL = "[A-Za-z0-9][A-Za-z0-9.:/_-]{0,2047}"
SECRET = "[A-Za-z0-9/_+=.@-]{1,512}|" + ARN.format("secretsmanager")
# As the function's log names a caller.
CALLER = "[0-9a-f]{32}"


def choice(rule: Rule, meaning: str, *, setting: bool = False) -> Any:
    """A field of Config: what its key takes, what it means, and whether the function reads it as a setting."""
    return field(metadata={"rule": rule, "meaning": meaning, "setting": setting})


@dataclass(frozen=True)
class Config:
    """All choices, checked. A field's name is its key; a setting's variable is that name in capitals."""

    # What is deployed
    name: str = choice(
        matching("[A-Za-z][A-Za-z0-9-]{0,63}", "up to 64 letters, digits and hyphens, a letter first"),
        "name of the stack and its metrics; stacks of different names live side by side",
    )
    # The model
    model_id: str = choice(
        matching(MODEL, "a model id, an inference profile id or an ARN"),
        "model or inference profile that answers",
        setting=True,
    )
    fallback_model_ids: tuple[str, ...] | None = choice(
        optional(list_of(MODEL, "up to 4 model ids with commas between them")),
        "models that are asked, in this order, where the one before is throttled, unavailable or in error",
        setting=True,
    )
    application_profile_model: str | None = choice(
        optional(matching("[a-z0-9]+[.][A-Za-z0-9.:_-]+", "the id of a foundation model")),
        "the foundation model behind model_id, if that is an application inference profile: the function may call no other",
    )
    model_request_fields: str | None = choice(
        optional(json_object()), "what else the model is asked with, such as extended thinking", setting=True
    )
    guardrail_id: str | None = choice(
        optional(matching("[a-z0-9]+|" + ARN.format("bedrock"), "a guardrail's id or ARN")),
        "guardrail that reads questions and answers",
        setting=True,
    )
    guardrail_version: str | None = choice(
        optional(matching("DRAFT|[1-9][0-9]{0,7}", "DRAFT or a version number")), "its version", setting=True
    )
    prompt_caching: str = choice(
        one_of("off", "auto"), "auto: models that can are asked to cache what repeats", setting=True
    )
    model_provider: str = choice(
        one_of("bedrock", "openai"), "Bedrock, or any endpoint with OpenAI's chat completions", setting=True
    )
    model_tool_use: str = choice(
        one_of("native", "react"), "react: tools for models that know none, by a ReAct prompt", setting=True
    )
    openai_base_url: str | None = choice(
        optional(matching("https?://[^ ]+", "an address")), "that endpoint, for model_provider=openai", setting=True
    )
    openai_api_key_secret: str | None = choice(
        optional(matching(SECRET, "a secret's name or ARN")),
        "the secret in Secrets Manager that holds its key",
        setting=True,
    )
    # Turns
    history_pairs: int = choice(whole(0, 1000), "earlier question and answer pairs that the model sees", setting=True)
    max_steps: int = choice(whole(1, 1000), "model calls in a turn", setting=True)
    max_tokens: int = choice(whole(1, 1_000_000), "tokens of one model answer", setting=True)
    temperature: float | None = choice(optional(number(0, 1)), "sampling temperature; not with top_p", setting=True)
    top_p: float | None = choice(optional(number(0, 1)), "nucleus sampling; not with temperature", setting=True)
    turn_token_limit: int | None = choice(
        optional(whole(1, 1_000_000_000)), "input and output tokens of one turn", setting=True
    )
    caller_daily_tokens: int | None = choice(
        optional(whole(1, 10**15)), "tokens that one caller may use in a day", setting=True
    )
    history_tokens: int | None = choice(
        optional(whole(1, 1_000_000_000)), "tokens that earlier turns may cost in a request", setting=True
    )
    tools: tuple[str, ...] | None = choice(
        optional(list_of("[a-z_][a-z0-9_]*", "names of tool modules with commas between them"), empty_is_null=False),
        "tool modules; null for all but the opt-in ones, empty for none",
        setting=True,
    )
    tool_timeout_seconds: float = choice(number(0.1, 900), "time of one tool use", setting=True)
    tool_result_max_chars: int = choice(whole(100, 1_000_000), "length of one tool result", setting=True)
    max_tool_uses_per_step: int = choice(whole(1, 1000), "tool uses in a step that are run", setting=True)
    max_parallel_tools: int = choice(whole(1, 64), "tool uses that run at the same time", setting=True)
    approvers: tuple[str, ...] | None = choice(
        optional(list_of(CALLER, "hashes of callers, as the log has them, with commas between them")),
        "who may approve tool uses of other callers",
        setting=True,
    )
    approval_ttl_seconds: int = choice(whole(1, 31_536_000), "time for an approval", setting=True)
    session_ttl_days: int = choice(whole(1, 3650), "days after which a turn is deleted", setting=True)
    http_timeout_seconds: int = choice(
        whole(1, 28), "time of a turn that came through the API, which gives up at 29 s", setting=True
    )
    caller_identity: str = choice(
        one_of("session", "role"),
        "whether sessions of an assumed role belong to the role session or to the whole role",
        setting=True,
    )
    cors_origins: tuple[str, ...] | None = choice(
        optional(list_of(ORIGIN, "origins such as https://example.com with commas between them")),
        "origins whose pages may call the API",
        setting=True,
    )
    log_content: bool = choice(flag(), "whether logs may hold what users, tools and the model said", setting=True)
    # The API
    auth: str = choice(one_of("iam", "jwt", "none"), "who may call the API: SigV4, tokens of an issuer, or anyone")
    jwt_issuer: str | None = choice(optional(matching("https://[^ ]+", "an https address")), "issuer for auth=jwt")
    jwt_audience: tuple[str, ...] | None = choice(
        optional(list_of("[^ ,]+", "audiences with commas between them")), "audiences for auth=jwt"
    )
    api_requests_per_second: int = choice(whole(1, 10_000), "requests that the API lets through, on average")
    api_burst: int = choice(whole(1, 5_000), "requests that it lets through at once")
    function_url: bool = choice(flag(), "a function URL (SigV4) beside the API, for turns longer than its 29 s")
    # Sessions
    retain_sessions: bool = choice(flag(), "whether the table stays when the stack is destroyed")
    kms_key: str | None = choice(
        optional(matching(f"create|{KMS_KEY}", "create or a key's ARN")),
        "own KMS key for the table; null for AWS's own",
    )
    # The function
    memory_mb: int = choice(whole(256, 10_240), "memory; processor time grows with it")
    timeout_seconds: int = choice(whole(30, 900), "time of an invocation, for turns that don't come through the API")
    architecture: str = choice(one_of("arm64", "x86_64"), "processor")
    snapstart: bool = choice(flag(), "start from a snapshot: a version and an alias are made at each change")
    tracing: bool = choice(flag(), "active tracing with X-Ray")
    reserved_concurrency: int | None = choice(
        optional(whole(1, 10_000)),
        "invocations at the same time, reserved and at most; new accounts have little to reserve",
    )
    log_retention_days: int = choice(whole_of(LOG_RETENTION_DAYS), "days that logs are kept")
    pyc: str = choice(
        one_of("auto", "require", "off"),
        "compiled files in the bundle, for half the cold start: where a "
        "Python of the function's version is found, or else stop, or never",
    )
    bundle_for: str = choice(
        one_of("lambda", "machine"), "machine bundles for this processor and Python, to run it here"
    )
    test_events: str = choice(
        one_of("create", "existing", "off"),
        "events/ in the console's Test tab; their registry is "
        "one per account and region: create it, use the existing one, or do without",
    )
    # Watching
    alarm_topic: str | None = choice(optional(matching(ARN.format("sns"), "an SNS topic's ARN")), "where alarms go")
    alarm_tokens_per_day: int | None = choice(optional(whole(1, 10**12)), "tokens a day above which an alarm goes off")
    price_input: float = choice(number(0, 10_000), "USD for a million input tokens, for the dashboard")
    price_output: float = choice(number(0, 10_000), "USD for a million output tokens")
    price_cache_read: float = choice(number(0, 10_000), "USD for a million tokens read from the cache")
    price_cache_write: float = choice(number(0, 10_000), "USD for a million tokens written to the cache")

    @property
    def model_ids(self) -> tuple[str, ...]:
        """All models that may answer, each once, in the order in which they are asked."""
        return tuple(dict.fromkeys((self.model_id, *(self.fallback_model_ids or ()))))

    def environment(self) -> dict[str, str]:
        """The settings that are set, as environment variables of the function."""
        settings = {item.name: getattr(self, item.name) for item in fields(self) if item.metadata["setting"]}
        return {name.upper(): _text(value) for name, value in settings.items() if value is not None}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def print_table() -> None:
    """Prints the keys as a Markdown table, with their values in cdk.json."""
    values = json.loads(CDK_JSON.read_text())["context"]
    print("| key | value | takes | meaning |\n| --- | --- | --- | --- |")
    for item in fields(Config):
        value, rule = json.dumps(values[item.name]), item.metadata["rule"]
        print(f"| `{item.name}` | `{value}` | {rule.allowed} | {item.metadata['meaning']} |")


if __name__ == "__main__":
    print_table()
