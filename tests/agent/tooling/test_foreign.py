"""Tools of LangChain and LlamaIndex, by look-alikes that speak as the real ones do; tests/foreign has the real ones."""

import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from agent.errors import MisconfiguredError, ToolError
from agent.tooling.foreign import adopted
from agent.tooling.offered import load_tools
from tests.agent.tooling.specs import judge_spec
from tests.agent.turn.turns import SECRET, echo, run_tools, text_of
from tests.fakes import use

_ADD = {
    "title": "add",
    "description": "Add.",
    "type": "object",
    "$defs": {"Unit": {"title": "Unit", "type": "string", "enum": ["m", "km"]}},
    "properties": {
        "a": {"title": "A", "type": "integer", "description": "the first"},
        "b": {"title": "B", "anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "unit": {"$ref": "#/$defs/Unit", "default": "m"},
    },
    "required": ["a"],
}
_TOLD = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "description": "the first"},
        "b": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "unit": {"type": "string", "enum": ["m", "km"], "default": "m"},
    },
    "required": ["a"],
}


class ToolException(Exception):
    """What a LangChain tool raises for the model to read."""


class ValidationError(ValueError):
    """Pydantic's, as far as it is read."""

    def __init__(self, *places: str) -> None:
        super().__init__(SECRET)
        self.places = places

    def errors(self) -> list[dict[str, Any]]:
        return [{"loc": (place,), "msg": "Input should be another", "input": SECRET} for place in self.places]


def schema_class(schema: dict[str, Any], name: str = "add") -> type:
    """A Pydantic class, as far as it is read: it knows what its schema says, and refuses `a` from 10 on, too."""

    def model_validate(given: dict[str, Any]) -> None:
        wrong = {"a"} if type(given.get("a")) is not int or given["a"] >= 10 else set()
        wrong |= {"unit"} if given.get("unit", "m") not in ("m", "km") else set()
        if wrong:
            raise ValidationError(*sorted(wrong))

    return type(name, (), {"model_json_schema": staticmethod(lambda: schema), "model_validate": model_validate})


@dataclass
class LangChainTool:
    """A StructuredTool. Its function makes of the arguments what a ToolMessage holds."""

    function: Callable[..., Any] | None
    coroutine: Callable[..., Awaitable[Any]] | None = None
    name: str = "add"
    description: str = "Add."
    schema: dict[str, Any] = field(default_factory=lambda: _ADD)
    status: str = "success"
    calls: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.args_schema = self.tool_call_schema = schema_class(self.schema)

    def get_input_schema(self) -> type:
        return self.args_schema

    def invoke(self, call: dict[str, Any]) -> Any:
        self.calls.append(call)
        self.args_schema.model_validate(call["args"])  # type: ignore[attr-defined]
        return self._message(self._run(**call["args"]))

    async def ainvoke(self, call: dict[str, Any]) -> Any:
        assert self.coroutine is not None
        return self._message(await self.coroutine(**call["args"]))

    def _run(self, **arguments: Any) -> Any:
        if self.function is None:
            raise NotImplementedError("StructuredTool does not support sync invocation.")
        return self.function(**arguments)

    def _message(self, content: Any) -> Any:
        return SimpleNamespace(content=content, status=self.status)


class LlamaIndexTool:
    """A FunctionTool."""

    def __init__(self, function: Callable[..., Any], *, content: str | None = None, is_error: bool = False) -> None:
        self.real_fn = function
        self.content, self.is_error, self.requires_context = content, is_error, False
        self.metadata = SimpleNamespace(
            name="add", description="Add.", fn_schema=schema_class(_ADD), get_parameters_dict=lambda: _ADD
        )

    def call(self, **arguments: Any) -> Any:
        return self._output(self.real_fn(**arguments))

    async def acall(self, **arguments: Any) -> Any:
        return self._output(await self.real_fn(**arguments))

    def _output(self, raw: Any) -> Any:
        content = str(raw) if self.content is None else self.content
        blocks = [SimpleNamespace(block_type="text", text=content), SimpleNamespace(block_type="image")]
        return SimpleNamespace(content=content, blocks=blocks, raw_output=raw, is_error=self.is_error)


def total(a: int, b: int | None = None, unit: str = "m") -> str:
    """What the tools here do."""
    return f"{a + (b or 0)} {unit}"


async def total_later(a: int, b: int | None = None, unit: str = "m") -> str:
    """The same, for those who wait."""
    return total(a, b, unit)


def fail(error: Exception) -> Callable[..., str]:
    """A function that ends with this error."""

    def function(**arguments: Any) -> str:
        raise error

    return function


def answer(thing: Any, **given: Any) -> tuple[str, str, str]:
    """Status, text and kind of error of one call."""
    [record] = run_tools([adopted(thing)], use("t1", "add", given))
    return record.status, text_of(record), record.error


@pytest.mark.parametrize("thing", [LangChainTool(total), LlamaIndexTool(total)], ids=lambda thing: type(thing).__name__)
def test_name_description_and_schema_are_taken_over(thing: Any) -> None:
    made = adopted(thing)
    spec = made.spec["toolSpec"]
    assert (made.name, spec["name"], spec["description"]) == ("add", "add", "Add.")
    assert spec["inputSchema"]["json"] == _TOLD
    judge_spec(made.spec)


@pytest.mark.parametrize(
    "thing",
    [LangChainTool(total), LangChainTool(None, total_later), LlamaIndexTool(total), LlamaIndexTool(total_later)],
    ids=["LangChain", "LangChain, async only", "LlamaIndex", "LlamaIndex, async only"],
)
def test_a_call_runs_the_tool_with_the_arguments(thing: Any) -> None:
    status, text, _ = answer(thing, a=1, b=2, unit="km")
    assert (status, text) == ("success", "[{'text': '3 km'}]")
    assert answer(thing, a=1)[1] == "[{'text': '1 m'}]"
    assert adopted(thing)(a=2) == "2 m"


@pytest.mark.parametrize("thing", [LangChainTool(total), LlamaIndexTool(total)], ids=lambda thing: type(thing).__name__)
@pytest.mark.parametrize("given", [{}, {"a": "one"}, {"a": 11}, {"a": 1, "unit": "mile"}, {"a": 1, "c": 1}], ids=str)
def test_a_wrong_argument_is_told_by_its_name_and_runs_nothing(thing: Any, given: dict[str, Any]) -> None:
    status, text, _ = answer(thing, **given)
    assert status == "error"
    assert "add was not run, its arguments are wrong" in text
    assert re.search(r"\b(a|unit|c)\b", text.split("wrong:")[1])
    assert SECRET not in text


def test_langchain_gets_the_id_of_the_call() -> None:
    thing = LangChainTool(total)
    answer(thing, a=1)
    assert thing.calls == [{"type": "tool_call", "name": "add", "args": {"a": 1}, "id": "t1"}]


def test_what_a_tool_of_langchain_says_to_the_model_is_an_error_it_reads() -> None:
    special = type("MyToolException", (ToolException,), {})
    assert answer(LangChainTool(fail(ToolException("Sold out."))), a=1) == (
        "error",
        "[{'text': 'Sold out.'}]",
        "tool_error",
    )
    assert "Sold out." in answer(LangChainTool(fail(special("Sold out."))), a=1)[1]
    handled = LangChainTool(lambda a: "Sold out, the tool says.", status="error")
    assert answer(handled, a=1)[::2] == ("error", "tool_error")


def test_what_a_tool_of_llamaindex_says_to_the_model_is_an_error_it_reads() -> None:
    assert answer(LlamaIndexTool(total, content="Sold out.", is_error=True), a=1) == (
        "error",
        "[{'text': 'Sold out.'}]",
        "tool_error",
    )


@pytest.mark.parametrize("family", [LangChainTool, LlamaIndexTool])
@pytest.mark.parametrize(
    "error", [RuntimeError(SECRET), NotImplementedError(SECRET), ValidationError("Price")], ids=repr
)
def test_any_other_error_is_a_bug_whose_text_stays_inside(family: Any, error: Exception) -> None:
    status, text, kind = answer(family(fail(error)), a=1)
    assert (status, kind) == ("error", type(error).__name__)
    assert SECRET not in text


@pytest.mark.parametrize("family", [LangChainTool, LlamaIndexTool])
def test_our_own_tool_error_passes_through(family: Any) -> None:
    assert answer(family(fail(ToolError("Closed."))), a=1) == ("error", "[{'text': 'Closed.'}]", "tool_error")


def test_blocks_of_langchain_become_their_text_and_what_is_left_out_is_told() -> None:
    blocks = ["one", {"type": "text", "text": "two"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    text = answer(LangChainTool(lambda a: blocks), a=1)[1]
    assert "one\\ntwo\\n[image_url: left out" in text


def test_what_is_no_message_of_langchain_is_a_result_as_it_is() -> None:
    thing = LangChainTool(total)
    thing._message = lambda content: {"told": content}  # type: ignore[method-assign]
    assert answer(thing, a=1)[1] == "[{'json': {'told': '1 m'}}]"


def test_a_value_of_llamaindex_stays_a_value_unless_the_tool_says_it_in_other_words() -> None:
    assert answer(LlamaIndexTool(lambda a: {"n": a}), a=1)[1] == "[{'json': {'n': 1}}]"
    told = answer(LlamaIndexTool(lambda a: {"n": a}, content="n is one"), a=1)[1]
    assert "n is one\\n[image: left out" in told


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("web_search_", "web_search_"),
        ("web-search", "web-search"),
        ("math.add two", "math_add_two"),
        ("_hidden", "hidden"),
        ("2d", "tool_2d"),
        ("x" * 65, r"x{55}_[0-9a-f]{8}"),
        ("天気", r"tool_[0-9a-f]{8}"),
        ("", r"tool_[0-9a-f]{8}"),
    ],
)
def test_a_name_that_not_every_model_takes_is_changed(name: str, valid: str) -> None:
    assert re.fullmatch(valid, adopted(LangChainTool(total, name=name)).name)


def test_two_long_names_that_begin_alike_stay_apart() -> None:
    assert len({adopted(LangChainTool(total, name="x" * 80 + end)).name for end in "ab"}) == 2


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/Gone"}}},
        {"type": "object", "properties": {"都市": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"$ref": "#/$defs/N"}}},
        {"type": "array", "items": {"type": "string"}},
    ],
    ids=["leads nowhere", "name", "leads to itself", "no object"],
)
def test_what_can_not_be_told_to_every_model_is_refused_by_the_tools_name(schema: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="tool price-list: "):
        adopted(LangChainTool(total, name="price-list", schema=schema))


def test_what_only_their_own_agents_can_give_is_refused() -> None:
    thing = LlamaIndexTool(total)
    thing.requires_context = True
    with pytest.raises(TypeError, match="tool add: it needs the context"):
        adopted(thing)


def test_a_tool_may_be_adopted_with_side_effects_or_a_persons_yes() -> None:
    assert not adopted(LangChainTool(total)).side_effects
    assert adopted(LangChainTool(total), side_effects=True).side_effects
    careful = adopted(LangChainTool(total), needs_approval=lambda a: a > 5, timeout_seconds=3)
    assert careful.side_effects
    assert careful.timeout_seconds == 3
    assert (careful.waits({"a": 1}), careful.waits({"a": 6})) == (False, True)


def module_with(monkeypatch: pytest.MonkeyPatch, *things: Any) -> None:
    """Has the tool module `calculator` hold these in its TOOLS."""
    module = ModuleType("agent.tools.calculator")
    module.__dict__["TOOLS"] = things
    monkeypatch.setitem(sys.modules, module.__name__, module)


def test_all_three_kinds_go_into_tools_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    module_with(monkeypatch, echo, LangChainTool(total, name="sum"), LlamaIndexTool(total))
    assert [each.name for each in load_tools(("calculator",), Path())] == ["echo", "sum", "add"]


@pytest.mark.parametrize(
    ("garbage", "told"),
    [
        (total, "the function total: put @tool above it"),
        (None, "a NoneType"),
        ("add", "a str"),
        (LangChainTool, "a type"),
    ],
    ids=["function", "none", "text", "class"],
)
def test_anything_else_in_tools_is_told_with_its_module(
    garbage: Any, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module_with(monkeypatch, echo, garbage)
    with pytest.raises(MisconfiguredError) as raised:
        load_tools(("calculator",), Path())
    assert told in raised.value.detail
    assert "agent/tools/calculator.py" in raised.value.detail
