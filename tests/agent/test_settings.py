"""Settings: every default, every range, and one sentence for what is wrong."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import MisconfiguredError
from agent.settings import Settings
from tests.agent.turn.strategies import EXAMPLES

_REQUIRED = {"MODEL_ID": "us.amazon.nova-pro-v1:0", "TABLE_NAME": "sessions"}
_DEFAULTS: dict[str, Any] = {
    "MODEL_FAMILY": "",
    "HISTORY_PAIRS": 10,
    "MAX_STEPS": 10,
    "MAX_TOKENS": 4096,
    "TEMPERATURE": None,
    "TOP_P": None,
    "TURN_TOKEN_LIMIT": None,
    "TOOLS": ("*",),
    "TOOL_TIMEOUT_SECONDS": 20,
    "TOOL_RESULT_MAX_CHARS": 20_000,
    "MAX_TOOL_USES_PER_STEP": 32,
    "MAX_PARALLEL_TOOLS": 8,
    "SESSION_TTL_DAYS": 30,
    "HTTP_TIMEOUT_SECONDS": 28,
    "CALLER_IDENTITY": "session",
    "CORS_ORIGINS": (),
    "STREAMING": False,
    "LOG_CONTENT": False,
    "FALLBACK_MODEL_IDS": (),
    "MODEL_REQUEST_FIELDS": {},
    "CALLER_DAILY_TOKENS": None,
    "APPROVERS": (),
    "APPROVAL_TTL_SECONDS": 86_400,
}


_NO_FIELDS = [
    "x",
    "[1]",
    "5",
    "null",
    '"x"',
    "{'a': 1}",
    '{"a": NaN}',
    '{"a": Infinity}',
    '{"a": 1e999}',
    '{"a": 1' + "0" * 400 + "}",
    r'{"a": "\ud83d"}',
    '{"a": ' * 5000 + "1" + "}" * 5000,
]


def _read(**environment: str) -> Settings:
    return Settings.from_environment({**_REQUIRED, **environment})


def _wrong(**environment: str) -> str:
    with pytest.raises(MisconfiguredError) as raised:
        _read(**environment)
    assert raised.value.message == MisconfiguredError.default  # what a caller reads names no setting
    return raised.value.detail


@pytest.mark.parametrize(("name", "default"), _DEFAULTS.items())
@pytest.mark.parametrize("blank", [None, "", "  "])
def test_an_unset_or_blank_setting_has_its_default(name: str, default: Any, blank: str | None) -> None:
    if name == "TOOLS" and blank is not None:
        default = ()  # empty: no tools
    settings = _read(**({} if blank is None else {name: blank}))
    assert getattr(settings, name.lower()) == default


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("MODEL_ID", " nova ", "nova"),
        ("HISTORY_PAIRS", "0", 0),
        ("MAX_STEPS", "1", 1),
        ("TEMPERATURE", "0", 0.0),
        ("TEMPERATURE", "1", 1.0),
        ("TOP_P", " 0.9 ", 0.9),
        ("TURN_TOKEN_LIMIT", "50000", 50_000),
        ("TOOLS", "fortune, arithmetic,,fortune", ("fortune", "arithmetic")),
        ("TOOL_TIMEOUT_SECONDS", "0.5", 0.5),
        ("HTTP_TIMEOUT_SECONDS", "58", 58.0),
        ("CALLER_IDENTITY", "role", "role"),
        ("CORS_ORIGINS", "https://a.example,https://b.example", ("https://a.example", "https://b.example")),
        ("STREAMING", "TRUE", True),
        ("LOG_CONTENT", "True", True),
        ("LOG_CONTENT", "false", False),
        ("FALLBACK_MODEL_IDS", " b , c,b,", ("b", "c")),
        ("MODEL_REQUEST_FIELDS", ' {"top_k": 5, "x": [1.5, null]} ', {"top_k": 5, "x": [1.5, None]}),
        ("CALLER_DAILY_TOKENS", "1000000", 1_000_000),
        ("APPROVERS", "a, anonymous", ("a", "anonymous")),
        ("APPROVAL_TTL_SECONDS", "60", 60),
    ],
)
def test_a_setting_is_read_as_its_type(name: str, text: str, value: Any) -> None:
    read = getattr(_read(**{name: text}), name.lower())
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("HISTORY_PAIRS", "-1", "a whole number from 0 to"),
        ("HISTORY_PAIRS", "ten", "a whole number from 0 to"),
        ("HISTORY_PAIRS", "1.5", "a whole number from 0 to"),
        ("HISTORY_PAIRS", "1_0", "a whole number from 0 to"),
        ("HISTORY_PAIRS", "１０", "a whole number from 0 to"),
        ("MAX_STEPS", "0", "a whole number from 1 to"),
        ("MAX_STEPS", "9" * 30, "a whole number from 1 to"),
        ("MAX_TOKENS", "0", "a whole number from 1 to"),
        ("TEMPERATURE", "1.1", "a number from 0 to 1"),
        ("TEMPERATURE", "nan", "a number from 0 to 1"),
        ("TEMPERATURE", "-inf", "a number from 0 to 1"),
        ("TOP_P", "high", "a number from 0 to 1"),
        ("TURN_TOKEN_LIMIT", "0", "a whole number from 1 to"),
        ("TOOL_TIMEOUT_SECONDS", "0", "a number from"),
        ("TOOL_TIMEOUT_SECONDS", "inf", "a number from"),
        ("TOOL_RESULT_MAX_CHARS", "0", "a whole number from 1 to"),
        ("MAX_TOOL_USES_PER_STEP", "0", "a whole number from 1 to"),
        ("MAX_PARALLEL_TOOLS", "0", "a whole number from 1 to"),
        ("SESSION_TTL_DAYS", "0", "a whole number from 1 to"),
        ("HTTP_TIMEOUT_SECONDS", "-5", "a number from"),
        ("APPROVERS", ",", "names with commas between them"),
        ("CALLER_IDENTITY", "user", "session or role"),
        ("CALLER_IDENTITY", "User", "session or role"),
        ("STREAMING", "yes", "false or true"),
        ("LOG_CONTENT", "yes", "false or true"),
        ("MODEL_FAMILY", "claude", "anthropic or nova or meta or mistral or other"),
        ("CALLER_DAILY_TOKENS", "0", "a whole number from 1 to"),
        ("APPROVAL_TTL_SECONDS", "0", "a whole number from 1 to"),
        *(("MODEL_REQUEST_FIELDS", text, "a JSON object") for text in _NO_FIELDS),
    ],
)
def test_a_wrong_value_is_told_in_one_sentence_with_name_value_and_what_is_allowed(
    name: str, value: str, allowed: str
) -> None:
    told = _wrong(**{name: value})
    assert told.startswith(f"{name} is {value[:100]!r}"[:-1])
    assert allowed in told
    assert told.endswith(".")
    assert "\n" not in told


@pytest.mark.parametrize("name", _REQUIRED)
@pytest.mark.parametrize("value", [None, "", " "])
def test_a_required_setting_that_is_missing_is_named(name: str, value: str | None) -> None:
    environment = {key: text for key, text in _REQUIRED.items() if key != name}
    with pytest.raises(MisconfiguredError) as raised:
        Settings.from_environment(environment if value is None else {**environment, name: value})
    assert raised.value.detail.startswith(f"{name} is ")


def test_temperature_and_top_p_exclude_each_other() -> None:
    told = _wrong(TEMPERATURE="0.1", TOP_P="0.9")
    assert "TEMPERATURE is 0.1" in told
    assert "TOP_P is 0.9" in told


def _thinking(**more: Any) -> str:
    return json.dumps({"thinking": {"type": "enabled", "budget_tokens": 1024, **more}})


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"MAX_TOKENS": "1025"},
        {"TEMPERATURE": "1"},
        {"TOP_P": "0.95"},
        {"TOP_P": "1"},
    ],
    ids=repr,
)
def test_thinking_that_keeps_the_rules_is_taken(more: dict[str, str]) -> None:
    fields = _read(MODEL_REQUEST_FIELDS=_thinking(), **more).model_request_fields
    assert fields == {"thinking": {"type": "enabled", "budget_tokens": 1024}}


@pytest.mark.parametrize(
    ("budget", "more"),
    [
        (1023, {}),
        (4096, {}),
        (1024, {"MAX_TOKENS": "1024"}),
        (-1, {}),
        (True, {}),
        (2000.5, {}),
        ("2000", {}),
        (None, {}),
    ],
    ids=repr,
)
def test_a_budget_of_thinking_is_at_least_1024_and_below_max_tokens(budget: Any, more: dict[str, str]) -> None:
    told = _wrong(MODEL_REQUEST_FIELDS=_thinking(budget_tokens=budget), **more)
    assert repr(budget) in told
    assert told.count("MAX_TOKENS") == 1


@pytest.mark.parametrize("more", [{"TEMPERATURE": "0.9"}, {"TEMPERATURE": "0"}, {"TOP_P": "0.94"}], ids=repr)
def test_thinking_excludes_what_claude_refuses_with_it(more: dict[str, str]) -> None:
    (name,) = more
    told = _wrong(MODEL_REQUEST_FIELDS=_thinking(), **more)
    assert told.startswith(f"{name} is {more[name]}")


def test_thinking_excludes_top_k() -> None:
    fields = {**json.loads(_thinking()), "top_k": 5}
    assert "top_k" in _wrong(MODEL_REQUEST_FIELDS=json.dumps(fields))
    assert _read(MODEL_REQUEST_FIELDS='{"top_k": 5}').model_request_fields == {"top_k": 5}


@pytest.mark.parametrize("thinking", [{"type": "disabled"}, {"type": "adaptive"}, {}, 5, None], ids=repr)
def test_the_rules_of_thinking_hold_only_where_it_is_enabled(thinking: Any) -> None:
    _read(MODEL_REQUEST_FIELDS=json.dumps({"thinking": thinking}), TEMPERATURE="0.1")


def test_a_very_long_wrong_value_is_told_in_part() -> None:
    assert len(_wrong(MAX_STEPS="x" * 10_000)) < 300


def test_unknown_variables_are_ignored() -> None:
    assert _read(PATH="/bin", AWS_REGION="us-east-1") == _read()


@EXAMPLES
@given(st.sampled_from([*_DEFAULTS, *_REQUIRED]), st.text(max_size=20))
def test_any_value_is_read_or_told_as_wrong(name: str, value: str) -> None:
    try:
        told = f"{name} is {getattr(_read(**{name: value}), name.lower())}"
    except MisconfiguredError as error:
        told = error.detail
    assert told.startswith(f"{name} is ")


@pytest.mark.parametrize(
    ("model_id", "refused"),
    [
        ("us.anthropic.claude-opus-4-7-20260101-v1:0", True),
        ("us.anthropic.claude-fable-5-1", True),
        ("anthropic.claude-opus-5-v1:0", True),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", False),
        ("anthropic.claude-sonnet-4-20250514-v1:0", False),
        ("us.amazon.nova-pro-v1:0", False),
    ],
)
def test_sampling_settings_are_refused_for_models_that_refuse_them(model_id: str, refused: bool) -> None:
    environment = {"MODEL_ID": model_id, "TABLE_NAME": "table", "TEMPERATURE": "0.2"}
    assert Settings.from_environment({**environment, "TEMPERATURE": "1"}).temperature == 1
    if not refused:
        assert Settings.from_environment(environment).temperature == 0.2
        return
    with pytest.raises(MisconfiguredError) as caught:
        Settings.from_environment(environment)
    assert caught.value.detail == f"TEMPERATURE is 0.2, but {model_id} takes only 1: leave it unset."
