"""Settings: every environment variable of the function, typed, checked, read once."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from agent.errors import MisconfiguredError
from agent.messages import clean_json
from agent.request_fields import check_request_fields


class Settings(msgspec.Struct, frozen=True):
    """The settings; README.md tells what each means. Seconds are seconds, limits are counts."""

    model_id: str
    table_name: str
    history_pairs: int
    max_steps: int
    max_tokens: int
    temperature: float | None
    top_p: float | None
    turn_token_limit: int | None
    streaming: bool
    tools: tuple[str, ...]
    tool_timeout_seconds: float
    tool_result_max_chars: int
    max_tool_uses_per_step: int
    max_parallel_tools: int
    session_ttl_days: int
    http_timeout_seconds: float
    caller_identity: str
    cors_origins: tuple[str, ...]
    log_content: bool
    guardrail_id: str
    guardrail_version: str
    fallback_model_ids: tuple[str, ...]
    model_request_fields: dict[str, Any]
    caller_daily_tokens: int | None
    approvers: tuple[str, ...]
    approval_ttl_seconds: int
    approval_topic: str
    history_tokens: int | None
    prompt_caching: str
    model_provider: str
    model_tool_use: str
    model_family: str
    openai_base_url: str
    openai_api_key_secret: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Reads them. A blank value counts as unset, save for TOOLS, where it means no tools.

        Raises MisconfiguredError, whose detail names the variable, its value and what is allowed.
        """
        read = _Reader(environment)
        settings = cls(
            model_id=read.text("MODEL_ID", "the id of a Bedrock model or inference profile"),
            table_name=read.text("TABLE_NAME", "the name of the session table"),
            history_pairs=read.integer("HISTORY_PAIRS", 10, 0, 1000),
            max_steps=read.integer("MAX_STEPS", 10, 1, 1000),
            max_tokens=read.integer("MAX_TOKENS", 4096, 1, 1_000_000),
            temperature=read.optional_number("TEMPERATURE", 0, 1),
            top_p=read.optional_number("TOP_P", 0, 1),
            turn_token_limit=read.optional_integer("TURN_TOKEN_LIMIT", 1, 1_000_000_000),
            streaming=read.choice("STREAMING", "false", ("false", "true")) == "true",
            tools=read.names("TOOLS", ("*",)),
            tool_timeout_seconds=read.number("TOOL_TIMEOUT_SECONDS", 20, 0.001, 900),
            tool_result_max_chars=read.integer("TOOL_RESULT_MAX_CHARS", 20_000, 1, 10_000_000),
            max_tool_uses_per_step=read.integer("MAX_TOOL_USES_PER_STEP", 32, 1, 1000),
            max_parallel_tools=read.integer("MAX_PARALLEL_TOOLS", 8, 1, 100),
            session_ttl_days=read.integer("SESSION_TTL_DAYS", 30, 1, 36_500),
            http_timeout_seconds=read.number("HTTP_TIMEOUT_SECONDS", 28, 0.1, 900),
            caller_identity=read.choice("CALLER_IDENTITY", "session", ("session", "role")),
            cors_origins=read.names("CORS_ORIGINS"),
            log_content=read.choice("LOG_CONTENT", "false", ("false", "true")) == "true",
            guardrail_id=read.optional_text("GUARDRAIL_ID"),
            guardrail_version=read.optional_text("GUARDRAIL_VERSION"),
            fallback_model_ids=read.names("FALLBACK_MODEL_IDS"),
            model_request_fields=read.json_object("MODEL_REQUEST_FIELDS"),
            caller_daily_tokens=read.optional_integer("CALLER_DAILY_TOKENS", 1, 1_000_000_000_000_000),
            approvers=read.names("APPROVERS"),
            approval_ttl_seconds=read.integer("APPROVAL_TTL_SECONDS", 86_400, 1, 31_536_000),
            approval_topic=read.optional_text("APPROVAL_TOPIC"),
            history_tokens=read.optional_integer("HISTORY_TOKENS", 1, 1_000_000_000),
            prompt_caching=read.choice("PROMPT_CACHING", "off", ("off", "auto")),
            model_provider=read.choice("MODEL_PROVIDER", "bedrock", ("bedrock", "openai")),
            model_tool_use=read.choice("MODEL_TOOL_USE", "native", ("native", "react")),
            model_family=read.choice("MODEL_FAMILY", "", ("anthropic", "nova", "meta", "mistral", "other")),
            openai_base_url=read.url("OPENAI_BASE_URL"),
            openai_api_key_secret=read.optional_text("OPENAI_API_KEY_SECRET"),
        )
        settings._check_together()
        read.choice("POWERTOOLS_LOG_LEVEL", "info", ("debug", "info", "warning", "error", "critical"))
        read.number("POWERTOOLS_LOGGER_SAMPLE_RATE", 0, 0, 1)
        return settings

    def _check_together(self) -> None:
        if self.model_provider == "openai" and not self.openai_base_url:
            raise _wrong("OPENAI_BASE_URL", None, "the URL of an OpenAI-compatible API, since MODEL_PROVIDER is openai")
        if self.temperature is not None and self.top_p is not None:
            raise MisconfiguredError(
                detail=f"TEMPERATURE is {self.temperature:g} and TOP_P is {self.top_p:g}, but only one of them may be "
                "set: Claude takes one or the other."
            )
        model_ids = (self.model_id, *self.fallback_model_ids)
        check_request_fields(self.model_request_fields, model_ids, self.max_tokens, self.temperature, self.top_p)
        if bool(self.guardrail_id) != bool(self.guardrail_version):
            raise MisconfiguredError(
                detail=f"GUARDRAIL_ID is {self.guardrail_id!r} and GUARDRAIL_VERSION is {self.guardrail_version!r}, "
                "but both or neither must be set."
            )


class _Reader(msgspec.Struct, frozen=True):
    environment: Mapping[str, str]

    def optional_text(self, name: str) -> str:
        return self.environment.get(name, "").strip()

    def text(self, name: str, allowed: str) -> str:
        value = self.optional_text(name)
        if not value:
            raise _wrong(name, self.environment.get(name), allowed)
        return value

    def integer(self, name: str, default: int, least: int, most: int) -> int:
        value = self.optional_integer(name, least, most)
        return default if value is None else value

    def optional_integer(self, name: str, least: int, most: int) -> int | None:
        text = self.optional_text(name)
        if not text:
            return None
        allowed = f"a whole number from {least} to {most}"
        # int() would take 1_000, and digits of other scripts
        if (
            not text.isascii()
            or not text.removeprefix("-").isdigit()
            or len(text) > 20
            or not least <= int(text) <= most
        ):
            raise _wrong(name, text, allowed)
        return int(text)

    def number(self, name: str, default: float, least: float, most: float) -> float:
        value = self.optional_number(name, least, most)
        return default if value is None else value

    def optional_number(self, name: str, least: float, most: float) -> float | None:
        text = self.optional_text(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise _wrong(name, text, f"a number from {least:g} to {most:g}")
        return value

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        value = self.optional_text(name) or default
        if value.lower() not in (default, *allowed):
            raise _wrong(name, value, " or ".join(allowed))
        return value.lower()

    def url(self, name: str) -> str:
        text = self.optional_text(name)
        if text and not text.startswith(("https://", "http://")):
            raise _wrong(name, text, "a URL that begins with https:// or http://")
        return text.rstrip("/")

    def json_object(self, name: str) -> dict[str, Any]:
        text = self.optional_text(name)
        try:
            value = json.loads(text, parse_constant=_refuse) if text else {}
            value = value if value == clean_json(value) else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise _wrong(name, text, "a JSON object")
        return value

    def names(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        text = self.environment.get(name)
        if not default and text and text.strip() and not listed(text):  # APPROVERS="," would let everybody decide
            raise _wrong(name, text, "names with commas between them")
        return default if text is None else listed(text)


def listed(text: str) -> tuple[str, ...]:
    """The names in a text with commas between them, each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _wrong(name: str, value: str | None, allowed: str) -> MisconfiguredError:
    told = "not set" if value is None else repr(value if len(value) <= 100 else value[:100] + "…")
    return MisconfiguredError(detail=f"{name} is {told}, but it must be {allowed}.")
