"""Calls of tools: each is validated, answered whatever happens, and matched to its id."""

import asyncio
import itertools
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.deadline import Deadline
from agent.tooling.tool import ToolContext, tool
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn.model_reply import clean_reply
from tests.agent.turn.strategies import EXAMPLES, JSON, USES
from tests.agent.turn.turns import boom, echo, refuse, run_tools, text_of, tool_context
from tests.fakes import use


class _Unit(Enum):
    C = "celsius"
    F = "fahrenheit"


@dataclass
class _Place:
    city: str
    zip: int = 0


@tool
def weather(
    city: Annotated[str, "a city"],
    days: int = 1,
    unit: _Unit = _Unit.C,
    mode: Literal["short", "long"] = "short",
    place: _Place | None = None,
) -> str:
    """Tell the weather."""
    return f"{city} {days} {unit.name} {mode} {place}"


@pytest.mark.parametrize(
    ("tool_input", "told"),
    [
        ({"city": "x", "comment": "y"}, "comment"),
        ({}, "city"),
        ({"city": None}, "city"),
        ({"city": ["x"]}, "city"),
        ({"city": 5}, "city"),
        ({"city": "x", "days": "two"}, "days"),
        ({"city": "x", "days": 1.5}, "days"),
        ({"city": "x", "unit": "kelvin"}, "unit"),
        ({"city": "x", "mode": "medium"}, "mode"),
        ({"city": "x", "place": {"city": 1}}, "place"),
        ({"city": "x", "place": {}}, "place"),
    ],
)
def test_a_wrong_argument_is_an_error_that_names_the_field(tool_input: object, told: str) -> None:
    wrong, right = run_tools([weather, echo], use("t1", "weather", tool_input), use("t2"))
    assert (wrong.status, wrong.error, right.status) == ("error", "refused", "success")
    assert told in text_of(wrong)
    assert "weather" in text_of(wrong)


def test_arguments_arrive_as_their_types_and_those_left_out_take_their_defaults() -> None:
    some, all_ = run_tools(
        [weather],
        use("t1", "weather", {"city": "Rome"}),
        use("t2", "weather", {"city": "Rome", "days": 2, "unit": "fahrenheit", "mode": "long", "place": {"city": "R"}}),
    )
    assert "Rome 1 C short None" in text_of(some)
    assert "Rome 2 F long _Place(city='R', zip=0)" in text_of(all_)


def test_an_unknown_tool_is_an_error_that_lists_those_there_are() -> None:
    [record] = run_tools([echo, refuse], use("t1", "get_wether"))
    assert record.status == "error"
    assert "get_wether" in text_of(record)
    assert "echo, refuse" in text_of(record)


def test_async_tools_work() -> None:
    @tool
    async def later(x: int) -> int:
        """Later."""
        await asyncio.sleep(0)
        return x + 1

    assert text_of(run_tools([later], use("t1", "later", {"x": 1}))[0]) == "[{'json': {'result': 2}}]"


def test_a_tool_may_know_its_turn_and_the_model_never_sees_that() -> None:
    @tool
    def whoami(context: ToolContext, greeting: str = "hello") -> str:
        """Tell who asks."""
        return f"{greeting} {context.session_id} {context.tool_use_id} {context.deadline.left() > 0}"

    assert whoami.spec["toolSpec"]["inputSchema"]["json"]["properties"].keys() == {"greeting"}
    assert "hello s t1 True" in text_of(run_tools([whoami], use("t1", "whoami"))[0])
    assert run_tools([whoami], use("t1", "whoami", {"context": {}}))[0].status == "error"


def test_results_stand_in_the_order_of_the_calls() -> None:
    records = run_tools([echo, boom], *(use(f"t{n}", "boom" if n % 3 else "echo") for n in range(12)))
    assert [record.tool_use_id for record in records] == [f"t{n}" for n in range(12)]
    assert [record.result["toolResult"]["toolUseId"] for record in records] == [f"t{n}" for n in range(12)]


def test_uses_beyond_the_limit_are_refused_with_a_reason() -> None:
    records = run_tools([echo], *(use(f"t{n}") for n in range(5)), limits=ToolLimits(max_uses_per_step=2))
    assert [record.status for record in records] == ["success"] * 2 + ["error"] * 3
    assert all("at most 2" in text_of(record) for record in records[2:])


def test_what_a_tool_prints_is_not_in_its_result(capsys: pytest.CaptureFixture[str]) -> None:
    @tool
    def chatty() -> Decimal:
        """Chat."""
        print("noise")
        return Decimal("1.5")

    assert text_of(run_tools([chatty], use("t1", "chatty"))[0]) == "[{'json': {'result': 1.5}}]"
    assert capsys.readouterr().out == "noise\n"


@EXAMPLES
@given(st.lists(USES, max_size=4), JSON)
def test_any_call_is_answered_once_with_text_or_an_object(uses: list[dict[str, Any]], value: Any) -> None:
    @tool(name="save")
    def give(text: str = "") -> str:
        """Give."""
        return value  # type: ignore[no-any-return]

    _, calls = clean_reply(uses, set())
    toolbox = Toolbox([weather, echo, boom, give], ToolLimits(max_uses_per_step=3, max_parallel=2))
    records = toolbox.run(calls, Deadline.after(30), tool_context)
    for call, record in itertools.zip_longest(calls, records):
        result = record.result["toolResult"]
        assert result["toolUseId"] == record.tool_use_id == call.tool_use_id
        assert result["status"] == record.status
        assert record.status in ("success", "error")
        assert result["content"]
