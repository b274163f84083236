"""A JSON schema that came with a tool: what a model is told of it, as near to it as all providers take."""

import json
from typing import Any
from urllib.parse import unquote

import msgspec

Schema = dict[str, Any]
_REMARKS = {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
_SAME_VALUE = (
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
)  # what they hold is about it, too
_MAPS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_VALUES = ("const", "enum", "default", "examples")
# OpenAI takes none of these at the root, Anthropic none of the first three.
_NOT_AT_ROOT = ("oneOf", "anyOf", "allOf", "enum", "not")
_BOOLEANS: dict[Any, Schema] = {True: {}, False: {"not": {}}}
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
        plain = json.loads(json.dumps(given, allow_nan=False), object_hook=without)
    except (ValueError, RecursionError) as error:
        raise TypeError(f"its schema is no JSON: {error}") from None
    if not isinstance(plain, dict):
        raise TypeError(f"its schema must be an object, not {type(plain).__name__}")
    return plain


def told_schema(plain: Schema) -> Told:
    """What to tell of the schema of an object: references in their places, nothing at the root that a provider refuses.

    A form that holds itself is named where it comes again. Raises TypeError, with the place, for what can't be told.
    """
    telling = _Telling(plain)
    root = {key: value for key, value in plain.items() if key not in ("$defs", "definitions", "title")}
    whole = telling.told(root, "$", ("#",), ("#",))
    kind = whole.get("type", "object")
    if kind != "object" and "object" not in (kind if isinstance(kind, list) else ()):
        raise TypeError(f"its schema must have the type object at its root, not {kind!r}")
    moved = {name: whole.pop(name) for name in _NOT_AT_ROOT if name in whole}
    branches = [each for name in _NOT_AT_ROOT[:3] for each in moved.get(name, ()) if isinstance(each, dict)]
    properties = {name: {} for each in branches for name in each.get("properties", ())} | whole.get("properties", {})
    sentence = f"The input as a whole must also fit this JSON schema: {json.dumps(moved, ensure_ascii=False)}"
    schema = {**whole, "type": "object", "properties": properties}
    return Told(schema, sentence if moved else "", frozenset(telling.patterns))


class _Telling(msgspec.Struct):
    root: Schema
    room: int = _ROOM
    patterns: set[str] = msgspec.field(default_factory=set)

    def told(
        self, part: Any, place: str, outer: tuple[str, ...], here: tuple[str, ...] = (), names: bool = False
    ) -> Any:
        """A part as it is told; `names`: it is no schema but holds one by each name.

        `outer` are the references that led to it, `here` those of them that speak of the same value.
        """
        self.room -= 1
        if self.room < 0:
            raise TypeError("its schema is too large with all references in their places")
        if isinstance(part, list):
            return [self.told(each, f"{place}[{number}]", outer, here) for number, each in enumerate(part)]
        if names and isinstance(part, dict):  # not every reader knows that a schema may be true
            schemas = {name: _BOOLEANS[each] if isinstance(each, bool) else each for name, each in part.items()}
            return {name: self.told(each, f"{place}.{name}", outer, here) for name, each in schemas.items()}
        if not isinstance(part, dict):
            return part
        made = {}
        for key, value in part.items():
            same, is_map = here if key in _SAME_VALUE else (), key in _MAPS
            made[key] = value if key in _VALUES else self.told(value, f"{place}.{key}", outer, same, is_map)
        kinds, pattern = made.get("type"), made.get("pattern")
        self.patterns |= {pattern} if isinstance(pattern, str) else set()
        self.patterns |= made.get("patternProperties", {}).keys()
        if made.get("enum") == []:
            raise TypeError(f"{place}.enum has no value to choose")
        if kinds == "array" or (isinstance(kinds, list) and "array" in kinds):
            made.setdefault("items", {})  # OpenAI: "array schema missing items"
        reference = made.pop("$ref") if isinstance(made.get("$ref"), str) else made.get("$dynamicRef")
        if not isinstance(reference, str):
            return made
        told = self._led_to(unquote(reference), place, outer, here)
        return {**told, **made} if made.keys() <= _REMARKS else {**made, "allOf": [*made.get("allOf", ()), told]}

    def _led_to(self, pointer: str, place: str, outer: tuple[str, ...], here: tuple[str, ...]) -> Schema:
        """What a JSON pointer (RFC 6901) leads to, as it is told."""
        target: Any = self.root if f"{pointer}/".startswith("#/") else None
        try:
            for part in pointer.split("/")[1:]:
                name = part.replace("~1", "/").replace("~0", "~")
                target = target[int(name) if isinstance(target, list) else name]
        except (KeyError, IndexError, ValueError, TypeError):
            target = None
        if pointer in here or not isinstance(target, dict):
            raise TypeError(
                f"{place}: the reference {pointer!r} leads {'to itself' if pointer in here else 'nowhere in it'}"
            )
        if pointer not in outer:
            told: Schema = self.told(target, place, (*outer, pointer), (*here, pointer))
            return told
        name = target.get("title", pointer.rpartition("/")[2])
        again = {"description": f"Again of the form {name}, which is told further up."}
        return {"type": target["type"], **again} if "type" in target else again
