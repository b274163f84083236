"""The same call that fails again and again is ended early; a mended one is not."""

from typing import Annotated, Any

import pytest

from agent.errors import ToolError
from agent.tooling.tool import Tool, tool
from agent.tooling.toolbox import ToolLimits
from agent.turn.loop import Limits
from tests.agent.turn.turns import Notes, make_turn, refuse, text_of
from tests.fakes import FakeModel, asks, reply, use

AGAIN = "this very call has failed 3 times"


def picky(fails: int) -> tuple[Tool[..., Any], list[str]]:
    """A tool that fails so many times before it works."""
    calls: list[str] = []

    @tool(name="picky")
    def call(key: Annotated[str, "any"] = "") -> str:
        """Fails at first."""
        calls.append(key)
        if len(calls) <= fails:
            raise ToolError("Not yet.")
        return "now"

    return call, calls


def said(*replies: Any, tools: Any = (refuse,), limits: ToolLimits | None = None) -> list[str]:
    """What the results of a turn with these replies say."""
    notes = Notes()
    turn = make_turn(
        FakeModel([*replies, reply("done")]), tools, notes=notes, tool_limits=limits, limits=Limits(max_steps=50)
    )
    turn.run()
    return [text_of(record) for record in notes.records]


def test_a_call_that_has_failed_three_times_is_not_run_a_fourth_time() -> None:
    each, calls = picky(99)
    texts = said(*(asks(use(f"t{number}", "picky", {"key": "x"})) for number in range(6)), tools=[each])
    assert calls == ["x"] * 3
    assert [AGAIN in text for text in texts] == [False] * 3 + [True] * 3


def test_other_arguments_are_another_call() -> None:
    each, calls = picky(99)
    said(*(asks(use(f"t{number}", "picky", {"key": str(number)})) for number in range(6)), tools=[each])
    assert len(calls) == 6


def test_a_call_that_works_may_be_repeated() -> None:
    each, calls = picky(2)
    texts = said(*(asks(use(f"t{number}", "picky", {"key": "x"})) for number in range(8)), tools=[each])
    assert len(calls) == 8
    assert "now" in texts[-1]


def test_the_order_of_arguments_makes_no_other_call() -> None:
    @tool
    def add(a: int, b: int) -> str:
        """Never works."""
        ran.append(a)
        raise ToolError("No.")

    ran: list[int] = []
    inputs = [{"a": 1, "b": 2}, {"b": 2, "a": 1}] * 3
    said(*(asks(use(f"t{number}", "add", each)) for number, each in enumerate(inputs)), tools=[add])
    assert len(ran) == 3


@pytest.mark.parametrize("broken", ["text", [1], 5])
def test_a_mended_call_is_run_after_three_malformed_ones(broken: object) -> None:
    each, calls = picky(0)
    malformed = [asks(use(f"t{number}", "picky", broken)) for number in range(3)]
    texts = said(*malformed, asks(use("t9", "picky", {})), tools=[each])
    assert calls == [""]
    assert "now" in texts[-1]


def test_calls_that_were_too_many_at_once_have_not_failed() -> None:
    each, calls = picky(0)
    many = asks(*(use(f"t{number}", "picky", {"key": "x"}) for number in range(8)))
    texts = said(many, asks(use("t9", "picky", {"key": "x"})), tools=[each], limits=ToolLimits(max_uses_per_step=2))
    assert len(calls) == 3
    assert "now" in texts[-1]


def test_the_next_turn_may_try_again() -> None:
    each, calls = picky(99)
    for _ in range(2):
        said(*(asks(use(f"t{number}", "picky")) for number in range(4)), tools=[each])
    assert len(calls) == 6
