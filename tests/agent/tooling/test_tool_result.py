"""What a tool returned, as a toolResult: never blank, never a bare value, never over the limit."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings

from agent.errors import ToolError
from agent.messages import Message, user_text
from agent.ports import ModelRequest
from agent.tooling.tool_result import result_content
from tests.agent.turn.strategies import EXAMPLES, JSON
from tests.fakes import FAMILIES, judge, use, wire_body


class _Color(Enum):
    RED = "red"


@dataclass
class _Point:
    x: int
    y: float


def _judge(content: list[dict[str, Any]], status: str = "success") -> None:
    messages: list[Message] = [
        user_text("q"),
        {"role": "assistant", "content": [use("t1")]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": content, "status": status}}]},
    ]
    request = ModelRequest("", messages, [])
    for model_id in FAMILIES:
        judge(model_id, wire_body(request, model_id))


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ({"a": 1}, {"json": {"a": 1}}),
        ({}, {"json": {}}),
        ([1, 2], {"json": {"result": [1, 2]}}),
        ([], {"json": {"result": []}}),
        (3, {"json": {"result": 3}}),
        (5.0, {"json": {"result": 5.0}}),
        (True, {"json": {"result": True}}),
        (None, {"json": {"result": None}}),
        ("", {"text": "(The tool has run and returned an empty text.)"}),
        (" \n", {"text": "(The tool has run and returned an empty text.)"}),
        ("x", {"text": "x"}),
        ('"42"', {"text": '"42"'}),
        ("[1, 2]", {"text": "[1, 2]"}),
        ("東京は晴れ🌞", {"text": "東京は晴れ🌞"}),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), {"json": {"result": "2026-01-02T03:04:05Z"}}),
        (date(2026, 1, 2), {"json": {"result": "2026-01-02"}}),
        (Decimal("0.1"), {"json": {"result": 0.1}}),
        (b"\x00\xff", {"json": {"result": "AP8="}}),
        ({1}, {"json": {"result": [1]}}),
        ((1, "a"), {"json": {"result": [1, "a"]}}),
        (_Point(1, 2.5), {"json": {"x": 1, "y": 2.5}}),
        ([_Point(1, 2.5)], {"json": {"result": [{"x": 1, "y": 2.5}]}}),
        (_Color.RED, {"json": {"result": "red"}}),
        (UUID(int=1), {"json": {"result": "00000000-0000-0000-0000-000000000001"}}),
        (PurePosixPath("/a/b"), {"json": {"result": "/a/b"}}),
        (ValueError("why"), {"json": {"result": "why"}}),
        (float("nan"), {"json": {"result": None}}),
    ],
    ids=repr,
)
def test_a_value_keeps_its_meaning(value: object, content: dict[str, Any]) -> None:
    made = result_content(value, 20_000)
    assert repr(made) == repr([content])
    _judge(made)


def _forever() -> Iterator[int]:
    while True:
        yield 1


def _cycle() -> list[Any]:
    ring: list[Any] = []
    ring.append({"again": ring})
    return ring


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [_forever(), _cycle(), _deep(100_000), 10**5000],
    ids=["generator", "cycle", "deep", "5,000 digits"],
)
def test_what_json_cannot_hold_is_an_error_for_the_model(value: object) -> None:
    with pytest.raises(ToolError):
        result_content(value, 20_000)


def test_a_coroutine_that_nobody_awaited_is_an_error_for_the_model() -> None:
    async def later() -> int:
        return 1

    coroutine = later()
    with pytest.raises(ToolError):
        result_content(coroutine, 20_000)
    assert asyncio.run(coroutine) == 1


@pytest.mark.parametrize(
    "value", [2**63, 2**64, 10**40, {"n": [2**64 - 1]}, _deep(70), "\ud83c", ["\ud83c"], {"\ud83c": 1}]
)
def test_what_no_service_takes_as_json_goes_in_another_form(value: object) -> None:
    content = result_content(value, 20_000)
    _judge(content)
    for block in content:
        assert not _holds_big_integer(block.get("json"))


def _holds_big_integer(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(_holds_big_integer(item) for item in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and not -(2**63) <= value < 2**63


@settings(EXAMPLES, max_examples=60)
@given(JSON)
def test_any_json_value_becomes_a_result_that_every_model_takes(value: Any) -> None:
    for limit in (10, 20_000):
        content = result_content(value, limit)
        _judge(content)
        _judge(content, "error")
        assert len(content) == 1
        assert str(next(iter(content[0].values()))).strip()


@pytest.mark.parametrize("value", ["あ" * 2_000_000, [{"row": n} for n in range(100_000)], "🌞" * 1_001])
def test_what_is_too_long_is_cut_and_says_so(value: Any) -> None:
    [block] = result_content(value, 1_000)
    assert block.keys() == {"text"}
    kept, _, note = block["text"].rpartition("\n")
    assert len(kept) == 1_000
    whole = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    assert whole.startswith(kept)
    assert "1,000" in note
    assert f"{len(whole):,}" in note
    _judge([block])


def test_what_just_fits_is_not_cut() -> None:
    assert result_content("x" * 1_000, 1_000) == [{"text": "x" * 1_000}]
    assert result_content({"a": "x"}, len('{"a":"x"}')) == [{"json": {"a": "x"}}]


def test_a_cut_text_whose_beginning_is_blank_is_not_blank() -> None:
    [block] = result_content(" " * 500 + "x", 100)
    assert block["text"].strip()
