"""`@tool`: the spec made from a function, and what is refused at import because no spec can express it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pytest

from agent.tooling.tool import Tool, tool, tool_from_schema
from tests.agent.tooling.specs import KEYWORDS, judge_spec, keywords_of


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: Annotated[float, "to the right"]
    y: float = 0
    tags: list[str] = field(default_factory=list)


def test_the_spec_is_made_from_annotations_and_docstring() -> None:
    @tool
    def draw(
        label: Annotated[str, "what to write"],
        at: Point,
        color: Color,
        levels: list[Level],
        style: Literal["thin", "thick"] = "thin",
        size: int | None = None,
        exact: bool | None = None,
    ) -> str:
        """Draw a label.

        At a point.
        """
        return label

    schema = draw.spec["toolSpec"].pop("inputSchema")["json"]
    assert draw.spec == {"toolSpec": {"name": "draw", "description": "Draw a label.\n\nAt a point."}}
    assert schema == {
        "type": "object",
        "properties": {
            "label": {"type": "string", "description": "what to write"},
            "at": {
                "type": "object",
                "properties": {
                    "x": {"type": "number", "description": "to the right"},
                    "y": {"type": "number"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["x"],
            },
            "color": {"type": "string", "enum": ["red", "blue"]},
            "levels": {"type": "array", "items": {"type": "integer", "enum": [1, 2]}},
            "style": {"type": "string", "enum": ["thin", "thick"]},
            "size": {"type": "integer"},
            "exact": {"type": "boolean"},
        },
        "required": ["label", "at", "color", "levels"],
    }
    assert keywords_of(schema) <= KEYWORDS
    judge_spec({"toolSpec": {**draw.spec["toolSpec"], "inputSchema": {"json": schema}}})


def test_a_tool_is_still_the_function() -> None:
    @tool(name="other", side_effects=True, timeout_seconds=1)
    def add(x: int, y: int = 1) -> int:
        """Add."""
        return x + y

    assert add(1) == 2
    assert (add.name, add.side_effects, add.timeout_seconds) == ("other", True, 1)


def test_a_tool_without_docstring_has_no_blank_description() -> None:
    @tool
    def bare() -> str:
        return "x"

    assert "description" not in bare.spec["toolSpec"]
    assert bare.spec["toolSpec"]["inputSchema"]["json"] == {"type": "object", "properties": {}}
    judge_spec(bare.spec)


def test_parameters_may_be_called_like_anything() -> None:
    @tool
    def odd(class_: str, field_0: int, json: str = "", self: str = "") -> str:
        """Odd."""
        return f"{class_}{field_0}{json}{self}"

    assert odd.bind({"class_": "a", "field_0": 1, "self": "s"}, None)() == "a1s"  # type: ignore[arg-type]


def takes_positional(x: int, /) -> str:
    return str(x)


def takes_variadic(*x: int) -> str:
    return str(x)


def takes_open(**x: int) -> str:
    return str(x)


def takes_bare(x) -> str:  # type: ignore[no-untyped-def]
    return str(x)


def _of(hint: Any) -> Callable[..., str]:
    def takes(x: int) -> str:
        return str(x)

    takes.__annotations__["x"] = hint
    return takes


@dataclass
class Ring:
    inner: "Ring | None" = None


@pytest.mark.parametrize(
    "function",
    [
        takes_positional,
        takes_variadic,
        takes_open,
        takes_bare,
        *map(_of, [int | str, int | str | None, dict[str, int], dict, list, set[int], tuple[int, str], bytes, Any]),
        *map(_of, [object, complex, Ring, "Nowhere", Literal["a", 1], Literal[True], list[int | str]]),
    ],
)
def test_what_cannot_be_expressed_is_refused_at_import(function: Callable[..., str]) -> None:
    with pytest.raises(TypeError, match="tool "):
        tool(function)


@pytest.mark.parametrize("name", ["get weather", "get-time", "a.b", "1st", "_x", "天気", "x" * 65, "a\n"])
def test_a_name_that_not_every_model_takes_is_refused_at_import(name: str) -> None:
    with pytest.raises(ValueError, match="can't be the name of a tool"):
        tool(name=name)(_of(int))
    with pytest.raises(ValueError, match="can't be the name of a tool"):
        tool_from_schema(name, "x", {"type": "object"}, str)


def test_a_name_of_64_characters_is_taken() -> None:
    assert tool(name="x" * 64)(_of(int)).name == "x" * 64


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}},
        {"anyOf": [{"type": "object"}, {"type": "object", "properties": {}}]},
        {"type": "object", "properties": {"x": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}},
        {"type": "object", "properties": {"x": {"type": ["string", "integer"]}}},
        {"type": "object", "properties": {"x": {"$ref": "#/$defs/gone"}}},
        {
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}},
        },
        {"type": "object", "properties": {"x": True}},
    ],
)
def test_a_schema_that_not_every_model_takes_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        tool_from_schema("x", "x", schema, str)


def test_a_schema_is_made_plain() -> None:
    made: Tool[..., str] = tool_from_schema(
        "plan",
        " ",
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "plan",
            "title": "Plan",
            "type": "object",
            "additionalProperties": False,
            "required": ["day", "gone"],
            "properties": {
                "day": {"$ref": "#/$defs/Day", "description": "when"},
                "note": {
                    "anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}],
                    "default": None,
                    "title": "Note",
                },
                "kind": {"const": "trip"},
                "size": {"type": ["integer", "null"]},
            },
            "$defs": {"Day": {"type": "object", "properties": {"at": {"type": "string", "format": "date"}}}},
        },
        str,
    )
    schema = made.spec["toolSpec"]["inputSchema"]["json"]
    assert schema == {
        "type": "object",
        "properties": {
            "day": {"type": "object", "properties": {"at": {"type": "string"}}, "description": "when"},
            "note": {"type": "string"},
            "kind": {"enum": ["trip"]},
            "size": {"type": "integer"},
        },
        "required": ["day"],
    }
    assert "description" not in made.spec["toolSpec"]
    judge_spec(made.spec)


def test_a_schema_that_was_given_is_not_changed() -> None:
    given = {"type": "object", "title": "T", "properties": {"x": {"type": "string", "title": "X"}}}
    before = repr(given)
    tool_from_schema("x", "x", given, str)
    assert repr(given) == before
