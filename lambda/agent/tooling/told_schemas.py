"""A JSON schema that came with a tool: what a model is told of it, as near to it as all providers take."""

import json
from typing import Any
from urllib.parse import unquote

import msgspec

Schema = dict[str, Any]
_REMARKS = {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
# OpenAI takes none of these at the root, Anthropic none of the first three.
_NOT_AT_ROOT = ("oneOf", "anyOf", "allOf", "enum", "not")
_ROOM = 20_000  # objects and lists: forms that hold each other many times would grow without end


class Told(msgspec.Struct, frozen=True):
    """A schema to tell, a sentence for what it can't say ("" for nothing), and the patterns in it."""

    schema: Schema
    sentence: str
    patterns: frozenset[str]


def plain_schema(given: object, left_out: tuple[str, ...] = ("$schema", "$id")) -> Schema:
    """A copy without some keywords: `$schema` and `$id` would have parts judged by another draft and lead references elsewhere.

    Raises TypeError for what is no JSON.
    """

    def without(part: Schema) -> Schema:
        if isinstance(part.get("type"), list):
            part["type"] = [kind for number, kind in enumerate(part["type"]) if kind not in part["type"][:number]]
        return {key: value for key, value in part.items() if key not in left_out or isinstance(value, dict)}

    try:
        plain: Schema = json.loads(json.dumps(given, allow_nan=False), object_hook=without)
    except (ValueError, RecursionError) as error:
        raise TypeError(f"its schema is no JSON: {error}") from None
    return plain


def told_schema(plain: Schema) -> Told:
    """What to tell of the schema of an object: references in their places, nothing at the root that a provider refuses.

    A form that holds itself is named where it comes again. Raises TypeError, with the place, for what can't be told.
    """
    telling = _Telling(plain)
    whole = telling.told(
        {key: value for key, value in plain.items() if key not in ("$defs", "definitions")}, "$", ("#",)
    )
    kind = whole.get("type", "object") if isinstance(whole, dict) else type(plain).__name__
    if kind != "object" and "object" not in (kind if isinstance(kind, list) else ()):
        raise TypeError(f"its schema must have the type object at its root, not {kind!r}")
    moved = {name: whole.pop(name) for name in _NOT_AT_ROOT if name in whole}
    branches = [each for name in _NOT_AT_ROOT[:3] for each in moved.get(name, ()) if isinstance(each, dict)]
    properties = {name: {} for each in branches for name in each.get("properties", ())} | whole.get("properties", {})
    sentence = f"The input as a whole must also fit this JSON schema: {json.dumps(moved, ensure_ascii=False)}"
    schema = {**whole, "type": "object", "properties": properties}
    schema.pop("title", None)
    return Told(schema, sentence if moved else "", frozenset(telling.patterns))


class _Telling(msgspec.Struct):
    root: Schema
    room: int = _ROOM
    patterns: set[str] = msgspec.field(default_factory=set)

    def told(self, part: Any, place: str, outer: tuple[str, ...]) -> Any:
        """A part of the schema as it is told; `outer` are the references that led to it."""
        self.room -= 1
        if self.room < 0:
            raise TypeError("its schema is too large with all references in their places")
        if isinstance(part, list):
            return [self.told(each, f"{place}[{number}]", outer) for number, each in enumerate(part)]
        if not isinstance(part, dict):
            return part
        made = {key: self.told(value, f"{place}.{key}", outer) for key, value in part.items()}
        self.patterns |= {made["pattern"]} if isinstance(made.get("pattern"), str) else set()
        self.patterns |= set(made["patternProperties"]) if isinstance(made.get("patternProperties"), dict) else set()
        if made.get("enum") == []:
            raise TypeError(f"{place}.enum has no value to choose")
        if made.get("type") == "array" or (isinstance(made.get("type"), list) and "array" in made["type"]):
            made.setdefault("items", {})  # OpenAI: "array schema missing items"
        reference = made.pop("$ref") if isinstance(made.get("$ref"), str) else made.get("$dynamicRef")
        if not isinstance(reference, str):
            return made
        told = self._led_to(unquote(reference), place, outer)
        return {**told, **made} if made.keys() <= _REMARKS else {**made, "allOf": [*made.get("allOf", ()), told]}

    def _led_to(self, pointer: str, place: str, outer: tuple[str, ...]) -> Schema:
        """What a JSON pointer (RFC 6901) leads to, as it is told."""
        target: Any = self.root
        try:
            for part in pointer.removeprefix("#").split("/")[1:]:
                name = part.replace("~1", "/").replace("~0", "~")
                target = target[int(name) if isinstance(target, list) else name]
        except (KeyError, IndexError, ValueError, TypeError):
            target = None
        loops = isinstance(target, dict) and "$ref" in target and pointer in outer
        if not isinstance(target, dict | bool) or loops or not f"{pointer}/".startswith("#/"):
            raise TypeError(
                f"{place}: the reference {pointer!r} leads {'to itself' if loops else 'nowhere in this schema'}"
            )
        if isinstance(target, dict) and pointer in outer:
            name = target.get("title", pointer.rpartition("/")[2])
            again = {"description": f"Again of the form {name}, which is told further up."}
            return {**({"type": target["type"]} if "type" in target else {}), **again}
        told: Schema = (
            self.told(target, place, (*outer, pointer)) if isinstance(target, dict) else {} if target else {"not": {}}
        )
        return told
