"""The family of errors: each has a code with an HTTP status, and a message that tells a caller nothing of the inside."""

import re

import pytest

from agent import errors
from agent.edge.responses import RETURNED, STATUS
from agent.errors import AgentError, MethodNotAllowedError, SessionBusyError, ToolError

_FAMILY = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AgentError)]


@pytest.mark.parametrize("kind", _FAMILY)
def test_every_error_has_a_code_with_a_status_and_a_sentence_for_a_person(kind: type[AgentError]) -> None:
    error = kind()
    assert kind is AgentError or kind.__name__.endswith("Error")
    assert kind is ToolError or error.code in STATUS  # a ToolError never leaves the loop
    assert error.message == str(error) == kind.default
    assert error.message.endswith(".")
    assert not re.search(r"arn:|\d{12}|Error|Exception|/", error.message)


def test_every_code_but_those_of_no_error_is_raised_by_one() -> None:
    assert {kind.code for kind in _FAMILY} - {"tool_error"} == set(STATUS)


@pytest.mark.parametrize("code", sorted(set(STATUS) - set(RETURNED)))
def test_who_catches_by_the_name_of_the_class_needs_one_name_a_code(code: str) -> None:
    assert len([kind for kind in _FAMILY if kind.code == code and kind is not AgentError]) == 1


def test_detail_is_kept_apart_from_the_message() -> None:
    error = AgentError(detail="arn:aws:iam::123456789012:role/x")
    assert (error.message, error.detail) == (AgentError.default, "arn:aws:iam::123456789012:role/x")
    assert "arn" not in str(error)


@pytest.mark.parametrize(
    ("code", "retry_after"),
    [
        ("session_busy", 5),
        ("model_throttled", 5),
        ("model_unavailable", 5),
        ("storage_unavailable", 5),
        ("model_error", None),
    ],
)
def test_errors_that_a_retry_may_mend_say_when(code: str, retry_after: int | None) -> None:
    assert {kind().retry_after for kind in _FAMILY if kind.code == code} == {retry_after}


def test_a_busy_session_tells_what_is_left_of_its_lease() -> None:
    assert SessionBusyError(retry_after=17).retry_after == 17


def test_a_wrong_method_tells_the_right_ones() -> None:
    assert MethodNotAllowedError(allowed=("GET", "DELETE")).allowed == ("GET", "DELETE")
