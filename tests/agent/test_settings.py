"""Settings: every default, every range, and one sentence for what is wrong."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import MisconfiguredError
from agent.settings import Settings
from tests.agent.strategies import EXAMPLES

_REQUIRED = {"MODEL_ID": "us.amazon.nova-pro-v1:0", "TABLE_NAME": "sessions"}
_DEFAULTS: dict[str, Any] = {
    "HISTORY_PAIRS": 10,
    "MAX_STEPS": 10,
    "MAX_TOKENS": 4096,
    "TEMPERATURE": None,
    "TOP_P": None,
    "TURN_TOKEN_LIMIT": None,
    "TOOLS": None,
    "TOOL_TIMEOUT_SECONDS": 20,
    "TOOL_RESULT_MAX_CHARS": 20_000,
    "MAX_TOOL_USES_PER_STEP": 32,
    "MAX_PARALLEL_TOOLS": 8,
    "SESSION_TTL_DAYS": 30,
    "HTTP_TIMEOUT_SECONDS": 28,
    "CALLER_IDENTITY": "session",
    "CORS_ORIGINS": (),
    "LOG_CONTENT": False,
}


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
        ("LOG_CONTENT", "True", True),
        ("LOG_CONTENT", "false", False),
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
        ("CALLER_IDENTITY", "user", "session or role"),
        ("CALLER_IDENTITY", "User", "session or role"),
        ("LOG_CONTENT", "yes", "false or true"),
    ],
)
def test_a_wrong_value_is_told_in_one_sentence_with_name_value_and_what_is_allowed(
    name: str, value: str, allowed: str
) -> None:
    told = _wrong(**{name: value})
    assert told.startswith(f"{name} is {value!r}")
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
