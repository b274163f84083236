"""Input schemas of tools: what is a JSON schema and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.bedrock.converse_requests import CLAUDE, NOVA, asking, broken, tool


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x": {"type": "strng"}}},
        {"properties": {"x": "string"}},
        {"properties": []},
        {"properties": {"x": {"items": [{"type": "string"}]}}},
        {"properties": {"x": {"enum": []}}},
        {"required": ["x", "x"]},
        {"properties": {"x": {"anyOf": [{"minLength": -1}]}}},
        {"$defs": {"y": {"type": ["string", "string"]}}},
        {"description": None},
    ],
)
def test_a_schema_that_is_none_is_refused(schema: dict[str, Any]) -> None:
    assert broken(NOVA, asking(toolConfig={"tools": [tool(**schema)]})) == {"U-SCHEMA-VALID"}


def test_a_schema_may_be_nested_deeply_and_name_its_properties_like_keywords() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    schema = {"type": {"type": "string"}, "items": deep, "enum": {"enum": [1, "a", None]}, "free": True}
    assert broken(CLAUDE, asking(toolConfig={"tools": [tool(properties=schema)]})) == set()
