"""What a model is told of a JSON schema that came with a tool: near to it, in a form that every provider takes."""

import copy
from typing import Any

import pytest

from agent.tooling.tool import Tool, tool_from_schema
from tests.agent.tooling.specs import judge_spec

_TEXT = {"type": "string"}


def made(schema: Any, description: str = "Do it.") -> Tool[..., Any]:
    """A tool of this schema, against which no provider has anything."""
    tool: Tool[..., Any] = tool_from_schema("x", description, schema, lambda **given: given)
    judge_spec(tool.spec)
    return tool


def told(schema: Any) -> Any:
    """The schema that the model reads."""
    return made(schema).spec["toolSpec"]["inputSchema"]["json"]


def of(value: Any, **more: Any) -> dict[str, Any]:
    """The schema of an object with one property."""
    return {"type": "object", "properties": {"a": value}, **more}


def test_what_a_schema_says_is_told_as_it_says_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "day": {
                "type": "string",
                "format": "date",
                "description": "when",
                "examples": ["2026-01-02"],
                "title": "Day",
            },
            "size": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
            "kind": {"const": "trip"},
            "unit": {"type": ["string", "null"], "enum": ["c", "f", None]},
            "who": {"anyOf": [{"type": "string", "pattern": "^[a-z]+$"}, {"type": "integer"}]},
            "tags": {"type": "array", "items": _TEXT, "minItems": 1, "uniqueItems": True},
            "more": {"type": "object", "additionalProperties": _TEXT, "default": {"title": "none"}},
            "any": {},
            "x-internal": {"type": "boolean", "x-order": 1},
        },
        "required": ["day"],
    }
    assert told(schema) == schema


def test_a_schema_that_was_given_is_not_changed() -> None:
    given = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **of({"$ref": "#/$defs/n"}),
        "$defs": {"n": {"type": "array"}},
    }
    before = copy.deepcopy(given)
    made(given).bind({"a": []}, None)  # type: ignore[arg-type]
    assert given == before


@pytest.mark.parametrize(
    ("reference", "rest", "value"),
    [
        ("#/$defs/day", {}, {"type": "string", "format": "date"}),
        (
            "#/$defs/day",
            {"description": "when", "default": "x"},
            {"type": "string", "format": "date", "description": "when", "default": "x"},
        ),
        ("#/$defs/day", {"maxLength": 5}, {"maxLength": 5, "allOf": [{"type": "string", "format": "date"}]}),
        ("#/$defs/outer/$defs/day", {}, {"type": "boolean"}),
        ("#/$defs/a~1b", {}, {"const": "slash"}),
        ("#/$defs/a~0b", {}, {"const": "tilde"}),
        ("#/$defs/a%20b", {}, {"const": "space"}),
        ("#/$defs/list/anyOf/1", {}, {"type": "null"}),
        ("#/properties/b", {}, {"type": "integer"}),
        ("#/$defs/again", {}, {"type": "string", "format": "date"}),
    ],
)
def test_a_reference_is_followed_as_the_json_pointer_that_it_is(
    reference: str, rest: dict[str, Any], value: Any
) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": reference, **rest}, "b": {"type": "integer"}},
        "$defs": {
            "day": {"type": "string", "format": "date"},
            "outer": {"$defs": {"day": {"type": "boolean"}}},
            "a/b": {"const": "slash"},
            "a~b": {"const": "tilde"},
            "a b": {"const": "space"},
            "list": {"anyOf": [_TEXT, {"type": "null"}]},
            "again": {"$ref": "#/$defs/day"},
        },
    }
    assert told(schema) == {"type": "object", "properties": {"a": value, "b": {"type": "integer"}}}


def test_a_name_that_looks_like_a_keyword_is_a_name() -> None:
    names = (
        "$ref",
        "$schema",
        "$id",
        "$defs",
        "definitions",
        "enum",
        "type",
        "title",
        "pattern",
        "items",
        "properties",
    )
    schema = of({"type": "object", "properties": {name: {"type": "string", "enum": ["v"]} for name in names}})
    assert told(schema) == schema
    value = {"a": dict.fromkeys(names, "v")}
    assert made(schema).bind(value, None)() == value  # type: ignore[arg-type]


def test_a_value_that_looks_like_a_schema_is_a_value() -> None:
    value = {"$ref": "#/nowhere", "enum": [], "type": "array", "pattern": "(?=x)", "properties": {"a": True}}
    schema = of({"default": value, "examples": [value], "enum": [value], "const": value})
    assert told(schema) == schema
    assert made(schema).bind({"a": value}, None)() == {"a": value}  # type: ignore[arg-type]


def test_a_property_called_properties_is_one() -> None:
    schema = of(
        {"type": "object", "properties": {"properties": {"$ref": "#/$defs/p"}, "default": {"$ref": "#/$defs/p"}}}
    )
    assert told({**schema, "$defs": {"p": {"type": "array"}}}) == of(
        {"type": "object", "properties": {key: {"type": "array", "items": {}} for key in ("properties", "default")}}
    )


def test_a_form_that_holds_itself_is_told_once_and_named_where_it_comes_again() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/Node"}, "n": {"type": "integer"}},
        "required": ["n"],
    }
    schema = {**of({"$ref": "#/$defs/Node"}), "$defs": {"Node": node}}
    again = {"type": "object", "description": "Again of the form Node, which is told further up."}
    assert told(schema)["properties"]["a"]["properties"]["next"] == again
    assert "Again of" in str(told(of({"type": "array", "items": {"$ref": "#"}})))


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (of({"$ref": "#/$defs/gone"}), r"\$\.properties\.a: .*leads nowhere"),
        (of({"$ref": "#/properties/a/type"}), r"\$\.properties\.a: .*leads nowhere"),
        (of({"$ref": "https://example.com/schema.json"}), r"\$\.properties\.a: .*leads nowhere in it"),
        (of({"$ref": "other.json#/$defs/a"}), r"leads nowhere in it"),
        (of({"$ref": "#name", "$anchor": "name"}), r"leads nowhere"),
        (of({"$dynamicRef": "#meta"}), r"leads nowhere"),
        (of({"$ref": "#/properties/a"}), r"\$\.properties\.a: .*leads to itself"),
        (
            of({"$ref": "#/$defs/x"}, **{"$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}}}),
            r"to itself",
        ),
        (of({"anyOf": [{"type": "null"}, {"$ref": "#/properties/a"}]}), r"to itself"),
        (of({"$ref": "#/$defs/x"}, **{"$defs": {"x": {"allOf": [{"not": {"$ref": "#/$defs/x"}}]}}}), r"to itself"),
        ({"type": "object", "if": {"dependentSchemas": {"a": {"$ref": "#"}}}}, r"to itself"),
        (of({"type": "strnig"}), r"\$\.properties\.a\.type: "),
        (
            of({"type": "object", "properties": {"b": {"type": "array", "items": {"type": "any"}}}}),
            r"\.b\.items\.type: ",
        ),
        (of(_TEXT, required=["a", "a"]), r"\$\.required: "),
        (of(_TEXT, required=True), r"\$\.required: "),
        (of({"type": "string", "required": True}), r"\$\.properties\.a\.required: "),
        ({"type": "object", "properties": None}, r"\$\.properties: None"),
        ({"type": "object", "properties": [_TEXT]}, r"\$\.properties: "),
        (of(None), r"\$\.properties\.a: None"),
        (of({"type": "string", "enum": []}), r"\$\.properties\.a\.enum has no value"),
        (of({"type": "string", "enum": "a"}), r"\$\.properties\.a\.enum: "),
        (of({"type": "array", "items": [_TEXT]}), r"\$\.properties\.a\.items: "),
        (of({"type": "string", "minLength": "1"}), r"minLength: "),
        (of({"type": "integer", "exclusiveMinimum": True}), r"exclusiveMinimum: "),
        (of({"anyOf": []}), r"anyOf: "),
        ({"type": "string"}, "must have the type object at its root, not 'string'"),
        ({"type": ["array", "null"]}, "must have the type object"),
        ([], "its schema must be an object"),
        ("object", "its schema must be an object"),
        (5, "its schema must be an object"),
        (None, "its schema must be an object"),
        (of({"default": float("nan")}), "no JSON"),
        (of({"default": {1, 2}}), "no JSON|not JSON"),
        (of(_TEXT, properties={"filter[id]": _TEXT}), "a parameter can't be called 'filter\\[id\\]'"),
        (of(_TEXT, properties={"都市": _TEXT}), "a parameter can't be called '都市'"),
        (of(_TEXT, properties={"x" * 65: _TEXT}), "a parameter can't be called 'xxx"),
        (of(_TEXT, properties={"": _TEXT}), "a parameter can't be called ''"),
    ],
)
def test_what_every_provider_would_refuse_is_refused_with_tool_and_place(schema: Any, place: str) -> None:
    with pytest.raises(TypeError, match=r"^tool x: ") as raised:
        tool_from_schema("x", "x", schema, str)
    assert raised.match(place)
    assert len(str(raised.value)) < 500


def test_two_forms_may_hold_each_other_by_way_of_a_reference() -> None:
    defs = {
        "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
        "B": {"$ref": "#/$defs/A", "description": "B"},
    }
    again = {"description": "Again of the form B, which is told further up."}
    assert told({**of({"$ref": "#/$defs/B"}), "$defs": defs})["properties"]["a"]["properties"]["b"] == again


def test_a_property_of_any_value_is_told_as_one() -> None:
    assert told({"type": "object", "properties": {"a": True, "b": False, "c": {}}})["properties"] == {
        "a": {},
        "b": {"not": {}},
        "c": {},
    }


def nested(levels: int) -> dict[str, Any]:
    """A schema with as many objects in one another."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = of(schema)
    return schema


def test_a_schema_may_be_nested_but_not_without_end() -> None:
    assert told(nested(25)) == {**nested(25)}
    with pytest.raises(TypeError, match="tool x: its schema is nested too deeply"):
        made(nested(400))


def test_forms_that_hold_each_other_too_often_to_be_told_are_refused() -> None:
    every = {"type": "object", "properties": {f"p{n}": {"$ref": f"#/$defs/f{n}"} for n in range(20)}}
    with pytest.raises(TypeError, match="too large"):
        made({**every, "$defs": {f"f{n}": every for n in range(20)}})


@pytest.mark.parametrize(
    "schema",
    [
        of({"anyOf": [{"const": "a"}, {"const": "b"}]}),
        of({"allOf": [_TEXT, {"enum": ["true", "false"]}]}),
        of({"type": ["integer", "number"]}),
        of({"anyOf": [_TEXT, _TEXT]}),
        of({"anyOf": [{"type": "object", "required": ["b"]}, {"type": "object", "required": ["c"]}]}),
        of({"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}),
        of({"if": {"type": "string"}, "then": {"minLength": 2}}),
        of({"not": {"type": "null"}}),
    ],
)
def test_alternatives_are_told_as_they_are(schema: Any) -> None:
    assert told(schema) == schema


def test_a_type_that_is_named_twice_is_told_once() -> None:
    assert told(of({"type": ["string", "string", "null"]})) == of({"type": ["string", "null"]})


@pytest.mark.parametrize(
    "array", [{"type": "array"}, {"type": ["array", "null"]}, {"type": "array", "prefixItems": [_TEXT]}]
)
def test_an_array_says_something_of_its_items(array: dict[str, Any]) -> None:
    assert told(of(array)) == of({**array, "items": {}})


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {}},
        {"type": ["object", "null"]},
        {"$schema": "http://json-schema.org/draft-07/schema#", "$id": "x", "title": "T", "type": "object"},
    ],
)
def test_an_object_without_properties_is_told_as_one(schema: Any) -> None:
    assert told(schema) == {"type": "object", "properties": {}}


def test_the_root_may_be_a_reference() -> None:
    assert told({"$ref": "#/$defs/Args", "$defs": {"Args": of(_TEXT, required=["a"])}}) == of(_TEXT, required=["a"])


@pytest.mark.parametrize("choice", ["oneOf", "anyOf", "allOf"])
def test_a_choice_at_the_root_is_told_in_the_description(choice: str) -> None:
    forms = [{"properties": {"id": {"const": "b"}}, "required": ["id"]}, {"required": ["a"]}]
    spec = made(of(_TEXT, **{choice: forms})).spec["toolSpec"]
    assert spec["inputSchema"]["json"] == {"type": "object", "properties": {"id": {}, "a": _TEXT}}
    assert spec["description"].startswith("Do it.\n\nThe input as a whole must also fit this JSON schema: {")
    assert '"const": "b"' in spec["description"]


@pytest.mark.parametrize("description", [None, "", " "])
def test_a_tool_needs_no_description(description: Any) -> None:
    assert "description" not in made(of(_TEXT), description).spec["toolSpec"]


def test_what_openai_takes_as_a_tool_is_taken_as_it_is() -> None:
    function = {"name": "get-time", "description": "Tell the time.", "parameters": of(_TEXT)}
    for given in ({"type": "function", "function": function}, {"type": "function", **function, "strict": True}):
        spec = tool_from_schema("", "", given, str).spec["toolSpec"]
        assert spec == {"name": "get-time", "description": "Tell the time.", "inputSchema": {"json": of(_TEXT)}}
        assert tool_from_schema("mine", "Mine.", given, str).spec["toolSpec"] | {"inputSchema": 0} == {
            "name": "mine",
            "description": "Mine.",
            "inputSchema": 0,
        }
    bare = tool_from_schema("", "", {"type": "function", "function": {"name": "now"}}, str).spec["toolSpec"]
    assert bare == {"name": "now", "inputSchema": {"json": {"type": "object", "properties": {}}}}
