"""The real packages' tools in TOOLS: what the model is told, and what it gets back."""

import asyncio
import re
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from typing import Annotated, Any, Literal

import pytest

from agent.errors import ToolError
from agent.tooling.foreign import adopted
from tests.agent.tooling.specs import judge_spec
from tests.agent.turn.turns import SECRET, make_turn, run_tools, text_of
from tests.fakes import FakeModel, reply, use

# by name, so that the types are checked where the packages aren't installed, too
langchain: Any = import_module("langchain_core.tools")
llamaindex: Any = import_module("llama_index.core.tools")
pydantic: Any = import_module("pydantic")

pytestmark = pytest.mark.foreign


class Unit(Enum):
    METER = "m"
    MILE = "mi"


class Point(pydantic.BaseModel):  # type: ignore[misc]
    x: float
    y: float = 0


class Node(pydantic.BaseModel):  # type: ignore[misc]
    next: "Node | None" = None


def route(
    start: Point,
    stops: list[Point],
    unit: Unit,
    mode: Literal["fast", "short"] = "fast",
    limit: int | None = None,
    tags: dict[str, int] | None = None,
) -> dict[str, Any]:
    """Find a route."""
    return {"start": str(start), "stops": len(stops), "unit": str(unit), "mode": mode, "limit": limit}


_POINT = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y": {"type": "number", "default": 0}},
    "required": ["x"],
}
_ROUTE = {
    "type": "object",
    "properties": {
        "start": _POINT,
        "stops": {"type": "array", "items": _POINT},
        "unit": {"type": "string", "enum": ["m", "mi"]},
        "mode": {"type": "string", "enum": ["fast", "short"], "default": "fast"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "tags": {
            "anyOf": [{"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "null"}],
            "default": None,
        },
    },
    "required": ["start", "stops", "unit"],
}
_TRIP = {"start": {"x": 1}, "stops": [{"x": 2, "y": 3}], "unit": "mi"}


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


async def add_later(a: int, b: int = 1) -> int:
    """Add two numbers, later."""
    await asyncio.sleep(0)
    return a + b


def fail(kind: str) -> str:
    """Fail in some way."""
    errors = {"tool": langchain.ToolException("Sold out."), "ours": ToolError("Closed."), "bug": RuntimeError(SECRET)}
    if kind == "pydantic":
        Point.model_validate({"x": SECRET})
    raise errors[kind]


def langchain_tool(function: Any, **options: Any) -> Any:
    return langchain.tool(**options)(function) if options else langchain.tool(function)


def llamaindex_tool(function: Any, **options: Any) -> Any:
    return llamaindex.FunctionTool.from_defaults(function, **options)


BOTH = pytest.mark.parametrize("make", [langchain_tool, llamaindex_tool])


def schema_of(thing: Any) -> Any:
    """The schema that the model reads, which no model has anything against."""
    spec = adopted(thing).spec
    judge_spec(spec)
    return spec["toolSpec"]["inputSchema"]["json"]


def answer(thing: Any, /, **given: Any) -> tuple[str, str, str]:
    """Status, text and kind of error of one call."""
    made = adopted(thing)
    [record] = run_tools([made], use("t1", made.name, given))
    return record.status, text_of(record), record.error


@BOTH
def test_name_description_and_schema_are_taken_over(make: Any) -> None:
    spec = adopted(make(route)).spec["toolSpec"]
    assert spec["name"] == "route"
    assert "Find a route." in spec["description"]
    assert schema_of(make(route)) == _ROUTE


@BOTH
def test_descriptions_of_parameters_are_taken_over(make: Any) -> None:
    def greet(who: Annotated[str, pydantic.Field(description="whom to greet")]) -> str:
        """Greet."""
        return who

    greet.__annotations__["who"] = Annotated[str, pydantic.Field(description="whom to greet")]
    assert schema_of(make(greet))["properties"]["who"] == {"type": "string", "description": "whom to greet"}


@BOTH
@pytest.mark.parametrize("function", [add, add_later])
def test_a_call_answers(make: Any, function: Any) -> None:
    if function is add_later and make is langchain_tool:
        assert langchain_tool(add_later).func is None
    status, text, _ = answer(make(function), a=2, b=3)
    assert status == "success"
    assert "5" in text
    assert "3" in answer(make(function), a=2)[1]


def test_langchain_makes_its_own_objects_of_the_arguments() -> None:
    status, text, _ = answer(langchain_tool(route), **_TRIP)
    assert status == "success"
    assert "x=1.0 y=0" in text
    assert "Unit.MILE" in text


def test_llamaindex_passes_arguments_on_as_they_are() -> None:
    status, text, _ = answer(llamaindex_tool(route), **_TRIP)
    assert status == "success"
    assert "{'json': {'start': \"{'x': 1}\"" in text


@BOTH
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"start": {"x": 1}, "stops": []}, "unit"),
        ({"start": {"x": "far"}, "stops": [], "unit": "m"}, "start.x"),
        ({"start": {"x": 1}, "stops": [{}], "unit": "m"}, "stops.0.x"),
        ({"start": {"x": 1}, "stops": [], "unit": "km"}, "unit"),
        ({"start": {"x": 1}, "stops": [], "unit": "m", "mode": None}, "mode"),
        ({"start": {"x": 1}, "stops": [], "unit": "m", "detour": 1}, "detour"),
    ],
)
def test_a_wrong_argument_is_told_by_its_name(make: Any, given: dict[str, Any], told: str) -> None:
    status, text, kind = answer(make(route), **given)
    assert status == "error"
    assert kind == "refused"
    assert "route was not run, its arguments are wrong" in text
    assert told in text
    assert "pydantic.dev" not in text


@BOTH
def test_bounds_are_told_and_hold(make: Any) -> None:
    schema = pydantic.create_model("Order", amount=(int, pydantic.Field(ge=1, le=9)))

    def order(amount: int) -> int:
        """Order."""
        return amount

    options = {"args_schema": schema} if make is langchain_tool else {"fn_schema": schema}
    thing = make(order, **options)
    assert schema_of(thing)["properties"] == {"amount": {"type": "integer", "minimum": 1, "maximum": 9}}
    assert answer(thing, amount=9)[0] == "success"
    assert "amount: Input should be less than or equal to 9" in answer(thing, amount=10)[1]


@BOTH
@pytest.mark.parametrize("kind", ["bug", "pydantic"])
def test_a_bug_is_a_bug_whose_text_stays_inside(make: Any, kind: str) -> None:
    status, text, error = answer(make(fail), kind=kind)
    assert (status, error) == ("error", {"bug": "RuntimeError", "pydantic": "ValidationError"}[kind])
    assert SECRET not in text


@BOTH
def test_our_own_tool_error_passes_through(make: Any) -> None:
    assert answer(make(fail), kind="ours") == ("error", "[{'text': 'Closed.'}]", "tool_error")


def test_an_exception_for_the_model_becomes_a_tool_error() -> None:
    thing = langchain_tool(fail)
    assert answer(thing, kind="tool") == ("error", "[{'text': 'Sold out.'}]", "tool_error")
    for handler in (True, "Sold out.", lambda error: str(error)):
        thing.handle_tool_error = handler
        assert answer(thing, kind="tool") == ("error", "[{'text': 'Sold out.'}]", "tool_error")


def test_content_and_artifact_gives_the_content() -> None:
    def look() -> tuple[str, Any]:
        """Look."""
        return "a cat", object()

    assert answer(langchain_tool(look, response_format="content_and_artifact"))[1] == "[{'text': 'a cat'}]"


def test_objects_and_messages_of_langchain_become_text() -> None:
    message = import_module("langchain_core.messages").ToolMessage

    def look(how: str) -> Any:
        """Look."""
        return {
            "object": {"名": 1},
            "message": message("seen", tool_call_id="x"),
            "blocks": [{"type": "text", "text": "seen"}, {"type": "image_url", "image_url": {"url": "data:,"}}],
            "nothing": None,
        }[how]

    assert answer(langchain_tool(look), how="object")[1] == "[{'text': '{\"名\": 1}'}]"
    assert answer(langchain_tool(look), how="message")[1] == "[{'text': 'seen'}]"
    assert "seen\\n[image_url: left out" in answer(langchain_tool(look), how="blocks")[1]
    assert answer(langchain_tool(look), how="nothing")[0] == "success"


def test_the_id_of_the_call_reaches_a_tool_that_asks_for_it() -> None:
    def pay(amount: int, call_id: Any) -> str:
        """Pay."""
        return f"paid {amount} once for {call_id}"

    pay.__annotations__["call_id"] = Annotated[str, langchain.InjectedToolCallId]
    assert schema_of(langchain_tool(pay))["properties"].keys() == {"amount"}
    assert "paid 5 once for t1" in answer(langchain_tool(pay), amount=5)[1]


def test_what_only_langchains_agents_can_give_is_refused() -> None:
    def remember(text: str, state: Any) -> str:
        """Remember."""
        return text

    remember.__annotations__["state"] = Annotated[dict[str, Any], langchain.InjectedToolArg]
    with pytest.raises(TypeError, match="tool remember: its parameter state"):
        adopted(langchain_tool(remember))


def test_what_only_llamaindex_workflows_can_give_is_refused() -> None:
    def remember(ctx: Any, text: str) -> str:
        """Remember."""
        return text

    remember.__annotations__["ctx"] = import_module("llama_index.core.workflow").Context
    with pytest.raises(TypeError, match="tool remember: it needs the context"):
        adopted(llamaindex_tool(remember))


@BOTH
def test_alternatives_and_what_holds_itself_are_told(make: Any) -> None:
    def show(value: Any, ring: Any) -> str:
        """Show."""
        return str(value)

    show.__annotations__.update(value=int | str, ring=Node)
    told = schema_of(make(show))["properties"]
    assert told["value"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert "Again of the form Node" in str(told["ring"])
    assert answer(make(show), value="x", ring={"next": {"next": None}})[1] == "[{'text': 'x'}]"
    assert answer(make(show), value=None, ring={})[2] == "refused"


@BOTH
@pytest.mark.parametrize("kind", [Callable[[], int]], ids=str)
def test_a_type_that_can_not_be_told_is_refused_by_the_tools_name(make: Any, kind: Any) -> None:
    def show(value: Any) -> str:
        """Show."""
        return str(value)

    show.__annotations__["value"] = kind
    thing = make(show)
    with pytest.raises(TypeError, match="tool show: "):
        adopted(thing)


def test_classes_of_their_own_and_the_old_kind_of_tool_work() -> None:
    class Search(langchain.BaseTool):  # type: ignore[misc]
        name: str = "web-search"
        description: str = "Search."

        def _run(self, query: str, most: int = 1) -> str:
            return query * most

    class SearchLater(Search):
        def _run(self, query: str, most: int = 1) -> str:
            raise NotImplementedError("async only")

        async def _arun(self, query: str, most: int = 1) -> str:
            return query * most

    for thing in (Search(), SearchLater()):
        assert adopted(thing).name == "web-search"
        assert schema_of(thing)["required"] == ["query"]
        assert answer(thing, query="x", most=3)[1] == "[{'text': 'xxx'}]"
    old = langchain.Tool("Shout", str.upper, "Shout it.")
    assert schema_of(old)["properties"] == {"tool_input": {"type": "string"}}
    assert answer(old, tool_input="hello")[1] == "[{'text': 'HELLO'}]"


def test_classes_of_the_first_pydantic_work_with_langchain() -> None:
    first = import_module("pydantic.v1")
    schema = first.create_model("Add", a=(first.conint(lt=10), first.Field(..., description="the first")), b=(int, 1))
    thing = langchain_tool(add, args_schema=schema)
    told = {"type": "integer", "description": "the first", "exclusiveMaximum": 10}
    assert schema_of(thing)["properties"] == {"a": told, "b": {"type": "integer", "default": 1}}
    assert answer(thing, a=1)[1] == "[{'text': '2'}]"
    assert "a: ensure this value is less than 10" in answer(thing, a=10)[1]


def test_a_retriever_of_llamaindex_works_as_a_tool() -> None:
    schema = import_module("llama_index.core.schema")

    class Shelf(import_module("llama_index.core.retrievers").BaseRetriever):  # type: ignore[misc]
        def _retrieve(self, query: Any) -> list[Any]:
            return [schema.NodeWithScore(node=schema.TextNode(text=f"all about {query.query_str}"), score=1)]

    thing = llamaindex.RetrieverTool.from_defaults(Shelf(), name="shelf", description="Find.")
    assert schema_of(thing)["properties"] == {"input": {"type": "string"}}
    status, text, _ = answer(thing, input="cats")
    assert status == "success"
    assert "all about" in text
    assert "cats" in text


def test_a_tool_of_langchain_with_a_json_schema_works() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    thing = langchain.StructuredTool(name="mcp.add", description="Add one.", args_schema=schema, func=add)
    assert adopted(thing).name == "mcp_add"
    assert schema_of(thing) == schema
    assert answer(thing, a=1)[1] == "[{'text': '2'}]"


@pytest.mark.parametrize(("given", "told"), [({"a": 1.5}, "$.a must fit"), ({}, "'a' is a required property")])
def test_a_tool_of_langchain_with_a_json_schema_is_judged_by_it(given: dict[str, Any], told: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    thing = langchain.StructuredTool(
        name="add", description="Add.", args_schema=schema, func=lambda **given: repr(given)
    )
    status, text, kind = answer(thing, **given)
    assert (status, kind) == ("error", "refused")
    assert told in text
    assert answer(thing, a=5.0)[1] == "[{'text': \"{'a': 5.0}\"}]"


def _aliases(**config: Any) -> Any:
    fields = {
        "limit": (int, pydantic.Field(3, alias="maxResults")),
        "query": (str, pydantic.Field(validation_alias="theQuery")),
        "order": (str, pydantic.Field("up", validation_alias=pydantic.AliasChoices("sortBy", "sort"))),
        "plain": (int, 0),
    }
    return pydantic.create_model("Search", __config__=config or None, **fields)


@BOTH
@pytest.mark.parametrize("config", [{}, {"populate_by_name": True}], ids=["by alias", "by name, too"])
def test_the_name_that_is_told_is_the_name_that_is_taken(make: Any, config: dict[str, Any]) -> None:
    def search(query: str, limit: int = 3, order: str = "up", plain: int = 0) -> str:
        """Search."""
        return f"{query} {limit} {order} {plain}"

    thing = make(search, **{"args_schema" if make is langchain_tool else "fn_schema": _aliases(**config)})
    schema = schema_of(thing)
    assert (schema["required"], list(schema["properties"])) == (
        ["theQuery"],
        ["maxResults", "theQuery", "sortBy", "plain"],
    )
    given = {"theQuery": "q", "maxResults": 7, "sortBy": "down", "plain": 1}
    assert answer(thing, **given)[1] == "[{'text': 'q 7 down 1'}]"
    assert answer(thing, theQuery="q")[1] == "[{'text': 'q 3 up 0'}]"
    for untold in ({"limit": 7}, {"order": "down"}, {"query": "q"}):
        assert answer(thing, theQuery="q", **untold)[::2] == ("error", "refused")


@BOTH
def test_pairs_and_tuples_say_what_they_hold(make: Any) -> None:
    def show(lines: tuple[int, int], more: tuple[str, ...] = ()) -> str:
        """Show."""
        return f"{list(lines)} {list(more)}"

    told = schema_of(make(show))["properties"]
    assert told["lines"]["prefixItems"] == [{"type": "integer"}, {"type": "integer"}]
    assert told["lines"]["items"] == {}
    assert told["more"]["items"] == {"type": "string"}
    assert answer(make(show), lines=[1, 2], more=["x"])[1] == "[{'text': \"[1, 2] ['x']\"}]"
    assert answer(make(show), lines=[1, 2, 3])[2] == "refused"


@BOTH
def test_a_function_of_any_arguments_gets_those_that_are_told(make: Any) -> None:
    def show(a: int, *args: int, **kwargs: int) -> str:
        """Show."""
        return f"{a} {args} {kwargs}"

    assert list(schema_of(make(show))["properties"]) == ["a"]
    assert answer(make(show), a=1)[1] == "[{'text': '1 () {}'}]"
    for untold in ({"kwargs": {"b": 2}}, {"args": [2]}, {"b": 2}):
        assert answer(make(show), a=1, **untold)[2] == "refused"


class ToolRuntime(import_module("langchain_core.tools.base")._DirectlyInjectedToolArg):  # type: ignore[misc]
    """As LangGraph has it: its agents alone can give it."""


@pytest.mark.parametrize(
    "hint", [ToolRuntime, Annotated[dict[str, Any], langchain.InjectedToolArg]], ids=["runtime", "state"]
)
@pytest.mark.parametrize("schema", ["none", "class", "JSON"])
def test_a_parameter_that_is_injected_is_refused_however_the_schema_was_made(hint: Any, schema: str) -> None:
    def locate(location: str, runtime: Any) -> str:
        """Locate."""
        return location

    locate.__annotations__["runtime"] = hint
    made = pydantic.create_model("Loc", location=(str, ...))
    options = {"class": {"args_schema": made}, "JSON": {"args_schema": made.model_json_schema()}, "none": {}}[schema]
    with pytest.raises(TypeError, match="tool locate: its parameter runtime is given by LangChain's own agents alone"):
        adopted(langchain_tool(locate, **options))


def test_a_parameter_that_is_injected_may_have_a_default_instead() -> None:
    def locate(location: str, runtime: Any = None) -> str:
        """Locate."""
        return f"{location} {runtime}"

    locate.__annotations__["runtime"] = Annotated[dict[str, Any] | None, langchain.InjectedToolArg]
    assert list(schema_of(langchain_tool(locate))["properties"]) == ["location"]
    assert answer(langchain_tool(locate), location="x")[1] == "[{'text': 'x None'}]"
    assert answer(langchain_tool(locate), location="x", runtime={"a": 1})[2] == "refused"


@BOTH
def test_a_number_that_a_model_wrote_with_a_point_or_at_length_is_taken(make: Any) -> None:
    status, text, _ = answer(make(add), a=5.0, b=2)
    assert status == "success"
    assert re.search(r"\b7(\.0)?\b", text)
    assert str(10**21 + 5) in answer(make(add), a=5, b=10**21)[1]


def test_the_text_that_a_tool_of_llamaindex_gives_wins_over_its_value() -> None:
    thing = llamaindex_tool(add, callback=lambda result: f"that makes {result}")
    assert answer(thing, a=1)[1] == "[{'text': 'that makes 2'}]"
    document = import_module("llama_index.core").Document

    def find(query: str) -> Any:
        """Find."""
        return [document(text=query), document(text="other")]

    assert answer(llamaindex_tool(find), query="one")[1] == "[{'text': 'one\\nother'}]"


def test_an_error_that_llamaindex_tells_becomes_a_tool_error() -> None:
    def refuse(a: int) -> Any:
        """Refuse."""
        return a

    def told(result: Any) -> Any:
        return llamaindex.ToolOutput(
            content="Sold out.", tool_name="refuse", raw_input={}, raw_output=None, is_error=True
        )

    assert answer(llamaindex_tool(refuse, callback=told), a=1) == ("error", "[{'text': 'Sold out.'}]", "tool_error")


@BOTH
def test_a_whole_turn_runs_with_it(make: Any) -> None:
    model = FakeModel([reply(use("t1", "add", {"a": 20, "b": 22}), stop_reason="tool_use"), reply("It is 42.")])
    outcome = make_turn(model, [adopted(make(add))], question="20 + 22?").run()
    assert outcome.answer == "It is 42."
    assert "42" in str(outcome.messages[2])
