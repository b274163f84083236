"""Rules of the offered tools and of the choice among them (U-NAME-..., U-SCHEMA-..., U-CHOICE-...)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from local.bedrock.case import Case, repeated
from local.bedrock.json_schema import schema_faults


def names_are_unique(case: Case) -> Iterator[str]:
    """U-NAME-UNIQUE."""
    if again := repeated(case.tool_names()):
        yield f"several tools have the name {again[0]}"


def schema_is_of_object(case: Case) -> Iterator[str]:
    """U-SCHEMA-OBJECT."""
    for name, schema in _schemas(case):
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"the inputSchema of {name} must be an object whose type is object"


def schema_is_valid(case: Case) -> Iterator[str]:
    """U-SCHEMA-VALID."""
    for name, schema in _schemas(case):
        if isinstance(schema, dict):
            yield from (f"the inputSchema of {name} is no JSON schema: {fault}" for fault in schema_faults(schema))


def schema_has_no_combinator(case: Case) -> Iterator[str]:
    """U-SCHEMA-COMBINATOR."""
    for name, schema in _schemas(case):
        if isinstance(schema, dict) and schema.keys() & {"oneOf", "anyOf", "allOf"}:
            yield f"the inputSchema of {name} must not have oneOf, anyOf or allOf at its root"


def schema_is_plain(case: Case) -> Iterator[str]:
    """U-SCHEMA-NOVA."""
    for name, schema in _schemas(case):
        if isinstance(schema, dict) and (more := sorted(schema.keys() - {"type", "properties", "required"})):
            yield f"the inputSchema of {name} has {more} at its root, and Nova may ignore the tool"


def choice_is_offered(case: Case) -> Iterator[str]:
    """U-CHOICE-KNOWN."""
    if "tool" in case.tool_choice and case.tool_choice["tool"]["name"] not in case.tool_names():
        yield f"toolChoice forces {case.tool_choice['tool']['name']}, which is not offered"


def choice_suits_family(case: Case) -> Iterator[str]:
    """U-CHOICE-FAMILY."""
    if "tool" in case.tool_choice:
        yield "toolChoice.tool is not supported by this model"
    if "any" in case.tool_choice and case.model.family == "meta":
        yield "toolChoice.any is not supported by this model"


def called_tools_are_offered(case: Case) -> Iterator[str]:
    """U-HISTORY-TOOL."""
    for path, use in case.blocks("toolUse"):
        if use["name"] not in case.tool_names():
            yield f"{path} names {use['name']}, which is not offered any more"


def _schemas(case: Case) -> Iterator[tuple[str, Any]]:
    for tool in case.tools:
        if "json" in tool.get("toolSpec", {}).get("inputSchema", {}):  # else its shape is refused
            yield tool["toolSpec"]["name"], tool["toolSpec"]["inputSchema"]["json"]
