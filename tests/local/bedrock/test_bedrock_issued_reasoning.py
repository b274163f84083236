"""Reasoning that goes back is judged by the record of what was issued."""

from __future__ import annotations

from typing import Any

import pytest

from local.bedrock.rules import violations
from tests.local.bedrock.converse_requests import (
    ANSWERED,
    CLAUDE,
    FABLE,
    NOVA,
    QUESTION,
    THOUGHT,
    asking,
    assistant,
    broken,
    cache_point,
    issued_with,
    result,
    text,
    thinking,
    use,
    user,
)


def redacted(data: str) -> dict[str, Any]:
    return {"reasoningContent": {"redactedContent": data}}


def test_reasoning_that_was_issued_goes_back_with_its_call() -> None:
    issued = issued_with(THOUGHT, use("t1"))
    kept = asking(QUESTION, assistant(THOUGHT, use("t1")), user(result("t1")))
    dropped = asking(QUESTION, assistant(use("t1")), user(result("t1")))
    assert broken(NOVA, kept, issued) == set()
    assert broken(NOVA, dropped, issued) == {"R-KEPT"}


def test_a_call_that_was_issued_without_reasoning_needs_none() -> None:
    request = asking(*ANSWERED, **thinking())
    assert broken(CLAUDE, request, issued_with(use("t1"))) == set()


def test_reasoning_may_be_dropped_once_the_tool_loop_is_over() -> None:
    request = asking(*ANSWERED, assistant(text("a")), user(text("next")))
    assert broken(NOVA, request, issued_with(THOUGHT, use("t1"))) == set()


@pytest.mark.parametrize(
    "sent", [(redacted("AAAA"), redacted("/w==")), (redacted("/w=="),), (redacted("AP8="), redacted("/w=="), THOUGHT)]
)
def test_reasoning_that_goes_back_changed_is_refused(sent: tuple[Any, ...]) -> None:
    issued = issued_with(redacted("AP8="), redacted("/w=="), use("t1"))
    request = asking(QUESTION, assistant(*sent, use("t1")), user(result("t1")))
    assert broken(NOVA, request, issued) == {"R-UNCHANGED"}


def test_reasoning_of_two_answers_in_one_message_is_refused() -> None:
    other = {"reasoningContent": {"reasoningText": {"text": "done", "signature": "b3RoZXI="}}}
    issued = issued_with(THOUGHT, use("t1"))
    issued.record(asking(QUESTION, assistant(THOUGHT, use("t1")), user(result("t1"))), [other, text("a")])
    request = asking(QUESTION, assistant(THOUGHT, other, text("a")), user(text("next")))
    assert broken(CLAUDE, request, issued) == {"R-MERGED"}


def test_a_signature_that_was_issued_for_another_text_is_refused() -> None:
    swapped = {"reasoningContent": {"reasoningText": {"text": "else", "signature": "c2ln"}}}
    request = asking(QUESTION, assistant(swapped, text("a")), user(text("next")))
    assert broken(CLAUDE, request, issued_with(THOUGHT, text("a"))) == {"R-SIGNATURE"}


def test_reasoning_after_another_prefix_is_refused_by_fable_and_a_warning_elsewhere() -> None:
    before = asking(user(text("first")), assistant(text("a")), QUESTION)
    issued = issued_with(THOUGHT, text("b"), before=before)
    answered = (QUESTION, assistant(THOUGHT, text("b")), user(text("next"), cache_point()))
    trimmed, whole = asking(*answered), asking(user(text("first")), assistant(text("a")), *answered)
    assert broken(FABLE, trimmed, issued) == {"R-PREFIX"}
    assert broken(FABLE, whole, issued) == broken(CLAUDE, trimmed, issued) == set()
    assert [violation.rule for violation in violations(CLAUDE, trimmed, issued=issued)] == ["R-PREFIX-OTHER"]
