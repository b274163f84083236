"""Whatever a tool raises becomes a result for the model, and what a failed call may have changed is known."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

from agent.errors import AgentError, ToolError
from agent.ports import ToolCall
from agent.tooling.tool import tool
from agent.tooling.toolbox import Toolbox, ToolLimits
from tests.agent.turn.turns import boom, echo, refuse, run_tools, text_of
from tests.fakes import use


def test_a_reason_that_a_tool_gives_is_told_to_the_model() -> None:
    [record] = run_tools([refuse], use("t1", "refuse"))
    assert (record.status, record.error, record.problem) == ("error", "tool_error", None)
    assert "The shop is closed." in text_of(record)


def test_a_bug_is_kept_for_the_log_and_nothing_of_it_reaches_the_model() -> None:
    [record] = run_tools([boom], use("t1", "boom"))
    assert (record.status, record.error) == ("error", "RuntimeError")
    assert "secret" not in text_of(record)
    assert isinstance(record.problem, RuntimeError)


class _Unforeseen(BaseException):
    pass


@pytest.mark.parametrize(
    "error",
    [
        ToolError(),
        ToolError("   "),
        ToolError("half \ud83c"),
        AgentError("ours"),
        KeyError("secret"),
        SystemExit(1),
        KeyboardInterrupt(),
        GeneratorExit(),
        asyncio.CancelledError(),
        BaseExceptionGroup("several", [SystemExit(1)]),
        _Unforeseen(),
        RecursionError(),
        MemoryError(),
        TimeoutError(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("is_async", [False, True])
def test_whatever_a_tool_raises_becomes_an_error_result(error: BaseException, is_async: bool) -> None:
    def fail() -> NoReturn:
        """Fail."""
        raise error

    async def fail_later() -> NoReturn:
        """Fail."""
        raise error

    failing: Callable[[], Any] = fail_later if is_async else fail
    first, second = run_tools([tool(name="fail")(failing), echo], use("t1", "fail"), use("t2"))
    assert (first.status, second.status) == ("error", "success")
    assert first.result["toolResult"]["content"][0]["text"].strip()
    assert "secret" not in text_of(first)


def test_an_argument_type_that_raises_while_it_is_made_becomes_an_error_result() -> None:
    @dataclass
    class Picky:
        city: str

        def __post_init__(self) -> None:
            raise KeyError(self.city)

    def visit(place: Picky) -> str:
        """Visit."""
        return place.city

    visit.__annotations__["place"] = Picky
    [record] = run_tools([tool(visit)], use("t1", "visit", {"place": {"city": "x"}}))
    assert record.status == "error"


def test_a_long_reason_is_cut_and_says_so() -> None:
    @tool
    def complain() -> str:
        """Complain."""
        raise ToolError("no " * 10_000)

    [record] = run_tools([complain], use("t1", "complain"), limits=ToolLimits(result_max_chars=100))
    [block] = record.result["toolResult"]["content"]
    assert len(block["text"]) < 250
    assert "30,000" in block["text"]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([ToolCall("t1", "pay", {})], True),
        ([ToolCall("t1", "echo", {})], False),
        ([ToolCall("t1", "pay", {}, "bad input")], False),
        ([ToolCall("t1", "gone", {})], False),
        ([ToolCall("t1", "echo", {}), ToolCall("t2", "pay", {})], True),
    ],
)
def test_side_effects_are_known_before_a_call(calls: list[ToolCall], expected: bool) -> None:
    @tool(side_effects=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    assert Toolbox([echo, pay], ToolLimits()).has_side_effects(calls) is expected


def test_a_refused_call_has_changed_nothing_and_a_failed_one_may_have() -> None:
    @tool(side_effects=True)
    def pay(amount: int) -> str:
        """Pay."""
        raise RuntimeError(amount)

    toolbox = Toolbox([pay], ToolLimits())
    refused = run_tools([pay], use("t1", "pay", {"amount": "much"}))
    failed = run_tools([pay], use("t1", "pay", {"amount": 1}))
    assert not toolbox.changes_made(refused)
    assert toolbox.changes_made(failed)
