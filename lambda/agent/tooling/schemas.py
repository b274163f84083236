"""JSON schemas of annotated functions: type, properties, required, items, enum, description."""

import dataclasses
import types
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from agent.errors import ToolError

Schema = dict[str, Any]
_SCALARS: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


class WrongArgumentsError(ToolError):
    """The input of a tool use is not what its tool takes: nothing was run. The message names place and reason."""


class Value(msgspec.Struct, frozen=True):
    """A parameter of a function or a field of a dataclass: its annotation, and whether it may be left out."""

    hint: Any
    has_default: bool
    required: bool


def schema_of_values(values: Mapping[str, Value], where: str, outer: tuple[type, ...] = ()) -> Schema:
    """The schema of an object of these. `where` begins the errors; `outer` are the dataclasses around it.

    That a value may be null is told where it has no default, since it is left out otherwise.
    Raises TypeError for an annotation that can't be expressed.
    """
    properties: dict[str, Schema] = {}
    for name, value in values.items():
        place = f"{where}{'.' if outer else ': '}{name}"
        properties[name] = _schema_of(value.hint, place, outer, null=not value.has_default)
    required = [name for name, value in values.items() if value.required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def converter(parameters: Mapping[str, Value]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What makes the arguments of a function with these parameters, by msgspec."""
    # attributes get names of their own, since a parameter may be called like a method of Struct
    names = {f"field_{number}": name for number, name in enumerate(parameters)}
    fields: list[Any] = []
    for attribute, each in zip(names, parameters.values(), strict=True):
        if each.has_default:
            fields.append((attribute, each.hint | msgspec.UnsetType, msgspec.UNSET))
        else:
            fields.append((attribute, each.hint) if each.required else (attribute, each.hint, None))
    struct = msgspec.defstruct("Arguments", fields, rename=names, forbid_unknown_fields=True, kw_only=True)

    def arguments(value: dict[str, Any]) -> dict[str, Any]:
        try:
            parsed = msgspec.convert(_whole(value), struct)
        except msgspec.ValidationError as error:
            raise WrongArgumentsError(str(error)) from None
        given = {name: getattr(parsed, attribute) for attribute, name in names.items()}
        return {name: argument for name, argument in given.items() if argument is not msgspec.UNSET}

    return arguments


def takes_none(hint: Any) -> bool:
    """Whether an annotation is an optional one."""
    if get_origin(hint) is Annotated:
        return takes_none(get_args(hint)[0])
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


def _schema_of(hint: Any, where: str, outer: tuple[type, ...], null: bool = True) -> Schema:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        texts = [extra for extra in arguments[1:] if isinstance(extra, str) and extra.strip()]
        return {**_schema_of(arguments[0], where, outer, null), **({"description": " ".join(texts)} if texts else {})}
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if origin is Literal:
        return _enumeration(list(arguments), where)
    if origin in (Union, types.UnionType):
        kinds = [argument for argument in arguments if argument is not type(None)]
        if len(kinds) == 1:
            schema = _schema_of(kinds[0], where, outer, null=False)
            choice = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
            return {**schema, "type": [schema["type"], "null"], **choice} if null else schema
        raise TypeError(f"{where} may be of several types, which not every model understands: {hint}")
    if origin is list and arguments:
        return {"type": "array", "items": _schema_of(arguments[0], where, outer)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enumeration([member.value for member in hint], where)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if hint in outer:
            raise TypeError(f"{where} holds itself, which not every model understands: {hint.__name__}")
        hints, missing = get_type_hints(hint, include_extras=True), dataclasses.MISSING
        fields: dict[str, Value] = {}
        for each in dataclasses.fields(hint):
            has_default = each.default is not missing or each.default_factory is not missing
            fields[each.name] = Value(hints[each.name], has_default, not has_default)
        return schema_of_values(fields, where, (*outer, hint))
    raise TypeError(
        f"{where} has a type that can't be told to a model: {hint}. It may be str, int, float, bool, Literal, an Enum, a "
        "dataclass, or a list or an optional one of these"
    )


def _enumeration(values: list[Any], where: str) -> Schema:
    kinds = {type(value) for value in values}
    if kinds <= {str} or kinds <= {int}:
        return {"type": _SCALARS[kinds.pop()], "enum": values}
    raise TypeError(f"{where}: the values of a choice must all be strings or all be integers: {values}")


def _whole(value: Any) -> Any:
    """The value with whole numbers as integers: models write 5.0 for 5. msgspec makes a float of it again where one is wanted."""
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
