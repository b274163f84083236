"""Bodies of any kind: what is no strict JSON, what is a stream's alone, and what no one thought of."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local.bedrock.rules import decode, violations
from tests.local.bedrock.converse_requests import (
    CLAUDE,
    FABLE,
    GOOD,
    LLAMA,
    NOVA,
    PROFILE,
    PROMPT,
    THOUGHT,
    asking,
    broken,
    issued_with,
    use,
)


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (b'{"messages": NaN}', "T-JSON"),
        (b'{"inferenceConfig": {"temperature": -Infinity}}', "T-JSON"),
        (b"{", "T-JSON"),
        (b"\xff\xff", "T-JSON"),
        (b"[" * 100_000, "T-JSON"),
        (b"[]", "T-JSON"),
        (b'{"x": ' + b"1" * 5000 + b"}", "T-JSON"),
        (b'"' + b" " * 20_000_000 + b'"', "T-SIZE"),
    ],
    ids=range(8),
)
def test_a_body_that_is_no_strict_json_is_refused(raw: bytes, rule: str) -> None:
    body, found = decode(raw)
    assert body == {}
    assert [violation.rule for violation in found] == [rule]


def test_the_body_of_a_stream_has_its_own_shape() -> None:
    guarded = asking(
        guardrailConfig={"guardrailIdentifier": "abc", "guardrailVersion": "1", "streamProcessingMode": "async"}
    )
    assert violations(CLAUDE, guarded, stream=True) == []
    assert broken(CLAUDE, guarded) == {"M-UNKNOWN"}


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container and key within a JSON value."""
    found, waiting = [], [value]
    while waiting:
        container = waiting.pop()
        if isinstance(container, dict | list):
            keys = list(container) if isinstance(container, dict) else list(range(len(container)))
            found += [(container, key) for key in keys]
            waiting += [container[key] for key in keys]
    return found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=100, deadline=None, database=None)
@given(st.data(), st.sampled_from([CLAUDE, FABLE, NOVA, LLAMA, PROFILE, PROMPT]))
def test_no_request_makes_the_check_itself_fail(data: st.DataObject, model_id: str) -> None:
    request = copy.deepcopy(GOOD)
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(request)))
        container[key] = data.draw(JSON)
    found = violations(model_id, request, issued=issued_with(THOUGHT, use("t1")))
    assert all(violation.message for violation in found)


def test_a_schema_of_an_unknown_kind_is_refused_by_its_shape() -> None:
    request = copy.deepcopy(GOOD)
    request["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"] = {"": None}
    assert {found.rule for found in violations("us.amazon.nova-lite-v1:0", request)} & {"M-UNKNOWN", "M-UNION"}
