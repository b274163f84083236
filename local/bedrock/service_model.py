"""The Converse request against botocore's own model of the service, with what botocore's validator leaves out:
enumerations, patterns, greatest lengths and ranges.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ServiceModel, Shape

Finding = tuple[str, str]
"""A rule's id and what is wrong, for a person."""

_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "string": (str,),
    "blob": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "float": (int, float),
}


@cache
def service_model() -> ServiceModel:
    """The model of bedrock-runtime that comes with the installed botocore."""
    return ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"), "bedrock-runtime")


def error_statuses() -> dict[str, int]:
    """The HTTP status of each exception that Converse documents, by its name."""
    return {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in service_model().error_shapes}


def findings(model_id: str, request: dict[str, Any], *, stream: bool) -> Iterator[Finding]:
    """Every way in which the request breaks the service model (rules M-...), blobs being base64 text."""
    members: dict[str, Shape] = dict(_request_shape(stream).members)
    yield from _scalar(members.pop("modelId"), model_id, "modelId")
    for name, value in request.items():
        if name in members:
            yield from _value(members[name], value, name)
        else:
            yield "M-UNKNOWN", f"{name} is no member of a Converse request"


def _request_shape(stream: bool) -> Any:
    return service_model().operation_model("ConverseStream" if stream else "Converse").input_shape


def _value(shape: Any, value: Any, path: str) -> Iterator[Finding]:
    if shape.type_name == "structure" and shape.is_document_type:
        return  # free-form JSON
    if not _has_type(value, _JSON_TYPES[shape.type_name]):
        yield "M-TYPE", f"{path} is {_json_type(value)} where a {shape.type_name} belongs"
    elif shape.type_name == "structure":
        yield from _structure(shape, value, path)
    elif shape.type_name == "list":
        yield from _length(shape, len(value), path)
        for index, item in enumerate(value):
            yield from _value(shape.member, item, f"{path}[{index}]")
    elif shape.type_name == "map":
        yield from _length(shape, len(value), path)
        for key, item in value.items():
            yield from _value(shape.key, key, f"a key of {path}")
            yield from _value(shape.value, item, f"{path}.{key}")
    else:
        yield from _scalar(shape, value, path)


def _has_type(value: Any, expected: tuple[type, ...]) -> bool:
    # Python takes a boolean for an integer, JSON doesn't.
    return isinstance(value, expected) and (bool in expected or not isinstance(value, bool))


def _structure(shape: Any, value: dict[str, Any], path: str) -> Iterator[Finding]:
    if shape.is_tagged_union and len(value) != 1:
        yield "M-UNION", f"{path} has {len(value)} members set where it must have exactly one"
    for name in shape.required_members:
        member = shape.members[name]
        is_document = member.type_name == "structure" and member.is_document_type
        if name not in value or (value[name] is None and not is_document):
            yield "M-REQUIRED", f"{path}.{name} is missing"
    for name, item in value.items():
        if name not in shape.members:
            yield "M-UNKNOWN", f"{path}.{name} is unknown to the service"
        elif item is not None or name not in shape.required_members:
            yield from _value(shape.members[name], item, f"{path}.{name}")


def _scalar(shape: Any, value: Any, path: str) -> Iterator[Finding]:
    if shape.type_name == "blob":
        yield from _blob(shape, value, path)
    elif shape.type_name in ("integer", "float"):
        low, high = shape.metadata.get("min"), shape.metadata.get("max")
        if (low is not None and value < low) or (high is not None and value > high):
            yield "M-RANGE", f"{path} is {value}, which is not {_bounds(low, high)}"
    elif shape.type_name == "string":
        yield from _length(shape, len(value), path)
        pattern = shape.metadata.get("pattern")
        if value and pattern and not re.fullmatch(pattern, value):
            yield "M-PATTERN", f"{path} is {value!r}, which does not match {pattern}"
        if shape.enum and value not in shape.enum:
            yield "M-ENUM", f"{path} is {value!r}, which is none of {', '.join(shape.enum)}"


def _blob(shape: Any, value: str, path: str) -> Iterator[Finding]:
    try:
        decoded = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        yield "M-BLOB", f"{path} is not valid base64"
    else:
        yield from _length(shape, len(decoded), path)


def _length(shape: Any, length: int, path: str) -> Iterator[Finding]:
    low, high = shape.metadata.get("min"), shape.metadata.get("max")
    if (low is not None and length < low) or (high is not None and length > high):
        yield "M-LENGTH", f"{path} has a length of {length}, which is not {_bounds(low, high)}"


def _bounds(low: float | None, high: float | None) -> str:
    if high is None:
        return f"at least {low}"
    return f"{low or 0} to {high}"


def _json_type(value: Any) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    return names.get(type(value), "an object" if isinstance(value, dict) else "a list")
