"""JSON schemas of tools, plain enough for every model family: type, properties, required, items, enum, description.

`$defs`, unions at the root and other keywords make Nova ignore a tool and Claude refuse the whole request.
"""

import dataclasses
import types
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

Schema = dict[str, Any]
_SCALARS: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}
_KEPT = ("type", "description", "enum")


def schema_of_parameters(parameters: Mapping[str, tuple[Any, bool]], where: str) -> Schema:
    """The schema of an object from names, annotations and whether each is required. `where` begins the errors.

    Raises TypeError for an annotation that can't be expressed.
    """
    properties = {name: _schema_of(hint, f"{where}: {name}", ()) for name, (hint, _) in parameters.items()}
    required = [name for name, (_, needed) in parameters.items() if needed]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _schema_of(hint: Any, where: str, outer: tuple[type, ...]) -> Schema:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        texts = [extra for extra in arguments[1:] if isinstance(extra, str) and extra.strip()]
        return {**_schema_of(arguments[0], where, outer), **({"description": " ".join(texts)} if texts else {})}
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if origin is Literal:
        return _enumeration(list(arguments), where)
    if origin in (Union, types.UnionType):
        kinds = [argument for argument in arguments if argument not in (type(None), msgspec.UnsetType)]
        if len(kinds) == 1:
            return _schema_of(kinds[0], where, outer)
        raise TypeError(f"{where} may be of several types, which not every model understands: {hint}")
    if origin is list and arguments:
        return {"type": "array", "items": _schema_of(arguments[0], where, outer)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enumeration([member.value for member in hint], where)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if hint in outer:
            raise TypeError(f"{where} holds itself, which not every model understands: {hint.__name__}")
        hints = get_type_hints(hint, include_extras=True)
        missing = dataclasses.MISSING
        fields = {
            f.name: (hints[f.name], f.default is missing and f.default_factory is missing)
            for f in dataclasses.fields(hint)
        }
        properties = {name: _schema_of(kind, f"{where}.{name}", (*outer, hint)) for name, (kind, _) in fields.items()}
        required = [name for name, (_, needed) in fields.items() if needed]
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}
    raise TypeError(
        f"{where} has a type that can't be told to a model: {hint}. It may be str, int, float, bool, Literal, an Enum, a "
        "dataclass, or a list or an optional one of these"
    )


def _enumeration(values: list[Any], where: str) -> Schema:
    kinds = {type(value) for value in values}
    if kinds <= {str} or kinds <= {int}:
        return {"type": _SCALARS[kinds.pop()], "enum": values}
    raise TypeError(f"{where}: the values of a choice must all be strings or all be integers: {values}")


def checked_schema(schema: Schema) -> Schema:
    """A given JSON schema made plain: references put in their places, keywords that not every model takes left out.

    Raises TypeError where that would change what it means: no object at its root, a real union, a reference to itself.
    """
    plain = _plain(schema, {**schema.get("definitions", {}), **schema.get("$defs", {})}, ())
    if plain.get("type") != "object":
        raise TypeError(f"the schema of a tool must have the type object at its root, not {plain.get('type')!r}")
    plain.setdefault("properties", {})
    return plain


def _plain(schema: Any, definitions: Mapping[str, Any], outer: tuple[str, ...]) -> Schema:
    if not isinstance(schema, dict):
        raise TypeError(f"a schema must be an object, not {schema!r}")
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        if name in outer or name not in definitions:
            raise TypeError(f"the reference {schema['$ref']!r} leads to itself or nowhere")
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _plain({**definitions[name], **rest}, definitions, (*outer, name))
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in schema:
            branches = [branch for branch in schema[keyword] if branch != {"type": "null"}]
            if len(branches) != 1:
                raise TypeError(f"{keyword} with several branches is not understood by every model")
            rest = {key: value for key, value in schema.items() if key != keyword}
            return _plain({**branches[0], **rest}, definitions, outer)
    plain = {key: schema[key] for key in _KEPT if key in schema}
    if isinstance(plain.get("type"), list):
        kinds = [kind for kind in plain["type"] if kind != "null"]
        if len(kinds) != 1:
            raise TypeError(f"a value of several types is not understood by every model: {plain['type']}")
        plain["type"] = kinds[0]
    if "const" in schema:
        plain["enum"] = [schema["const"]]
    if not str(plain.get("description", "-")).strip():
        del plain["description"]
    if "properties" in schema:
        properties = schema["properties"]
        plain["properties"] = {name: _plain(value, definitions, outer) for name, value in properties.items()}
        required = [name for name in schema.get("required", []) if name in properties]
        plain |= {"required": required} if required else {}
    if "items" in schema:
        plain["items"] = _plain(schema["items"], definitions, outer)
    return plain


def type_of_schema(schema: Schema) -> tuple[type, dict[str, str]]:
    """A type that msgspec validates by, for a plain schema of an object, and its attributes' names in the schema."""
    names = {f"field_{number}": name for number, name in enumerate(schema.get("properties", {}))}
    required = schema.get("required", [])
    fields: list[Any] = []
    for attribute, name in names.items():
        kind = _type_of(schema["properties"][name])
        fields.append((attribute, kind) if name in required else (attribute, kind | msgspec.UnsetType, msgspec.UNSET))
    struct = msgspec.defstruct("Arguments", fields, rename=names, forbid_unknown_fields=True, kw_only=True)
    return struct, names


def _type_of(schema: Schema) -> Any:
    if "enum" in schema and all(isinstance(value, str | int) for value in schema["enum"]):
        return Literal[tuple(schema["enum"])]
    match schema.get("type"):
        case "array":
            return list[_type_of(schema["items"])] if "items" in schema else list[Any]  # type: ignore[misc]
        case "object":
            return dict[str, Any]
        case kind:
            return _TYPES.get(str(kind), Any) | None  # optional ones were told as their plain type
