"""Whether a JSON value is a JSON schema, as far as the providers are known to check (draft 2020-12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_CONDITIONS = ("not", "if", "then", "else", "contains", "propertyNames")
_SCHEMA = (*_CONDITIONS, "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems")
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SCHEMA_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")


def schema_faults(root: Any) -> Iterator[str]:
    """Everything that makes `root` no JSON schema, each with its path; a loop, since schemas may be nested deeply."""
    waiting: list[tuple[str, Any]] = [("$", root)]
    while waiting:
        path, schema = waiting.pop()
        if isinstance(schema, bool):
            continue
        if not isinstance(schema, dict):
            yield f"{path} must be an object"
            continue
        for keyword, (is_valid, expected) in _KEYWORDS.items():
            if keyword in schema and not is_valid(schema[keyword]):
                yield f"{path}.{keyword} must be {expected}"
        waiting += _nested(path, schema)


def _nested(path: str, schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword, value in schema.items():
        if keyword in _SCHEMA:
            yield f"{path}.{keyword}", value
        elif keyword in _SCHEMA_LISTS and isinstance(value, list):
            yield from ((f"{path}.{keyword}[{index}]", item) for index, item in enumerate(value))
        elif keyword in _SCHEMA_MAPS and isinstance(value, dict):
            yield from ((f"{path}.{keyword}.{name}", item) for name, item in value.items())


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    are_known = all(isinstance(name, str) and name in _TYPES for name in names)
    return bool(names) and are_known and len(set(names)) == len(names)


def _are_unique_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value) and len(set(value)) == len(value)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


_KEYWORDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (_is_type, f"one or some of {', '.join(sorted(_TYPES))}"),
    "required": (_are_unique_strings, "a list of different strings"),
    "enum": (_is_list, "a list that is not empty"),
    **dict.fromkeys(_SCHEMA_LISTS, (_is_list, "a list of schemas that is not empty")),
    **dict.fromkeys(_SCHEMA_MAPS, (_is_map, "an object of schemas")),
    **dict.fromkeys(("title", "description", "pattern", "format", "$ref", "$schema", "$id"), (_is_string, "a string")),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), (_is_number, "a number")),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        (_is_count, "a whole number of at least 0"),
    ),
}
