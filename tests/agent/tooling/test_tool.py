"""`@tool`: the spec made from a function, and what is refused at import because no spec can express it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pytest

from agent.tooling.schemas import WrongArgumentsError
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


@pytest.mark.parametrize("name", ["get weather", "-time", "a.b", "1st", "_x", "天気", "x" * 65, "a\n"])
def test_a_name_that_not_every_model_takes_is_refused_at_import(name: str) -> None:
    with pytest.raises(ValueError, match="can't be the name of a tool"):
        tool(name=name)(_of(int))
    with pytest.raises(ValueError, match="can't be the name of a tool"):
        tool_from_schema(name, "x", {"type": "object"}, str)


def test_a_name_of_64_characters_is_taken() -> None:
    assert tool(name="x" * 64)(_of(int)).name == "x" * 64


@pytest.mark.parametrize("name", [None, "", 5])
def test_what_is_no_name_is_refused_like_a_bad_one(name: Any) -> None:
    for schema in ({}, {"type": "function"}, {"type": "function", "function": None}):
        with pytest.raises(ValueError, match="can't be the name of a tool"):
            tool_from_schema(name, "x", schema, str)


def test_a_hyphen_in_a_name_is_kept() -> None:
    made: Tool[..., str] = tool_from_schema("get-time", "x", {"type": "object"}, str)
    assert (tool(name="get-time")(_of(int)).name, made.name) == ("get-time", "get-time")


def weather(都市: str) -> str:
    return 都市


def test_a_parameter_that_no_provider_takes_by_its_name_is_refused_at_import() -> None:
    with pytest.raises(TypeError, match="tool weather: a parameter can't be called '都市'"):
        tool(weather)


@dataclass
class Trip:
    end: str | None
    note: str | None = None


def test_an_optional_parameter_without_a_default_may_be_left_out_or_be_null() -> None:
    @tool
    def plan(
        size: int | None,
        level: Annotated[Level | None, "how high"],
        trip: Trip,
        days: int | None = 3,
        names: list[str | None] | None = None,
    ) -> list[Any]:
        """Plan."""
        return [size, level, trip, days]

    schema = plan.spec["toolSpec"]["inputSchema"]["json"]
    assert schema["required"] == ["trip"]
    assert schema["properties"] == {
        "size": {"type": ["integer", "null"]},
        "level": {"type": ["integer", "null"], "enum": [1, 2, None], "description": "how high"},
        "trip": {
            "type": "object",
            "properties": {"end": {"type": ["string", "null"]}, "note": {"type": "string"}},
            "required": ["end"],
        },
        "days": {"type": "integer"},
        "names": {"type": "array", "items": {"type": ["string", "null"]}},
    }
    judge_spec(plan.spec)
    assert plan.bind({"trip": {"end": None}}, None)() == [None, None, Trip(None), 3]  # type: ignore[arg-type]
    given = {"size": 1, "level": None, "trip": {"end": "x"}, "days": None}
    assert plan.bind(given, None)() == [1, None, Trip("x"), None]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "got"),
    [(5.0, 5), (-3.0, -3), (0.0, 0), (10**21, 10**21), (1e20, 10**20), (2**53 + 1, 2**53 + 1)],
    ids=repr,
)
def test_an_integer_that_a_model_wrote_with_a_point_is_one(given: float, got: int) -> None:
    @tool
    def count(n: int, points: list[Level] | None = None, ratio: float = 0) -> str:
        """Count."""
        return repr((n, points, ratio))

    assert count.bind({"n": given}, None)() == repr((got, None, 0))  # type: ignore[arg-type]
    assert count.bind({"n": given, "points": [2.0], "ratio": given}, None)() == repr((got, [Level.HIGH], float(given)))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [5.5, "5", "5.0", True, None, 1e400])
def test_what_is_no_integer_is_none_with_a_point_either(given: object) -> None:
    with pytest.raises(WrongArgumentsError, match=r"\$\.x"):
        tool(_of(int)).bind({"x": given}, None)  # type: ignore[arg-type]
