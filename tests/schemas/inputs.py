"""Inputs for a JSON schema, made at random from it: most are nearly right, which tells a sloppy check from a strict one."""

import random
from typing import Any
from urllib.parse import unquote

_TEXTS = (
    "",
    "a",
    "abc",
    "a b",
    "x/y",
    "x-1",
    "A1",
    "2026-01-02",
    "12",
    "٣",
    "é",
    "東京",
    "a\n",
    "x" * 40,
    "a@b.co",
    "http://a.b/c",
)
_NUMBERS = (0, 1, -1, 5, 5.0, 0.5, -2.5, 100, 9007199254740993, 10**21, 1e300)
_ODD: tuple[Any, ...] = (None, True, False, 0, 1.0, "", "zzz", [], [[]], {}, {"zzz": 1}, *_NUMBERS, *_TEXTS)
_DEEPEST = 6


class Maker:
    """Makes values for the schemas of one tool. Which, is told by the seed alone."""

    def __init__(self, root: dict[str, Any], seed: int) -> None:
        self._root = root
        self._random = random.Random(seed)

    def inputs(self, count: int) -> list[dict[str, Any]]:
        """Objects, the first ones without a deliberate mistake."""
        made = [self._value(self._root, 0, 0.0 if number < count // 3 else 0.15) for number in range(count)]
        return [{}, *(value for value in made if isinstance(value, dict))]

    def _value(self, schema: Any, depth: int, mistakes: float) -> Any:
        draw = self._random
        if draw.random() < mistakes:
            return draw.choice(_ODD)
        schema = self._merged(schema, depth)
        if schema is False or depth > _DEEPEST * 2:
            return None
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return draw.choice(schema["enum"])
        kinds = schema.get("type", self._likely(schema))
        kind = draw.choice(kinds) if isinstance(kinds, list) else kinds
        match kind:
            case "object":
                return self._object(schema, depth, mistakes)
            case "array":
                return self._array(schema, depth, mistakes)
            case "string":
                return self._text(schema)
            case "integer" | "number":
                return self._number(schema, kind)
            case "boolean":
                return draw.random() < 0.5
            case "null":
                return None
        return draw.choice(_ODD)

    def _merged(self, schema: Any, depth: int) -> Any:
        """The schema with its reference followed, one of each choice taken, and all of `allOf` put together."""
        if isinstance(schema, bool):
            return {} if schema else False
        merged = dict(schema)
        for _ in range(20):  # a reference may lead to another one
            parts = [self._at(merged.pop("$ref"))] if "$ref" in merged else []
            parts += merged.pop("allOf", [])
            parts += [self._random.choice(merged.pop(name)) for name in ("anyOf", "oneOf") if merged.get(name)]
            if not parts:
                return merged
            for part in parts:
                for key, value in part.items() if isinstance(part, dict) else ():
                    if key == "properties":
                        value = {**value, **merged.get(key, {})}
                    elif key == "required":
                        value = [*value, *merged.get(key, [])]
                    elif key == "type" and key in merged:
                        value = merged[key]
                    merged[key] = value
        return merged

    def _at(self, reference: str) -> Any:
        found: Any = self._root
        for part in unquote(reference).split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found[int(name)] if isinstance(found, list) else found[name]
        return found

    def _likely(self, schema: dict[str, Any]) -> str:
        return next((kind for kind, sign in (("object", "properties"), ("array", "items")) if sign in schema), "any")

    def _object(self, schema: dict[str, Any], depth: int, mistakes: float) -> dict[str, Any]:
        draw, made = self._random, {}
        required = schema.get("required", [])
        for name, inner in schema.get("properties", {}).items():
            wanted = name in required and draw.random() >= mistakes / 2
            if wanted or draw.random() < (0.5 if depth < _DEEPEST else 0.0):
                made[name] = self._value(inner, depth + 1, mistakes)
        for name in required:
            if name not in made and draw.random() >= mistakes:
                made[name] = draw.choice(_ODD)
        extra = schema.get("additionalProperties", True)
        if (extra is not False and draw.random() < 0.2) or draw.random() < mistakes:
            made[draw.choice(("zzz", "x-1", "é"))] = self._value(extra or {}, depth + 1, mistakes)
        return made

    def _array(self, schema: dict[str, Any], depth: int, mistakes: float) -> list[Any]:
        first = schema.get("prefixItems", [])
        least, most = schema.get("minItems", 0), schema.get("maxItems", max(len(first), schema.get("minItems", 0), 2))
        count = self._random.randint(least, max(least, most if most < 50 else 3)) if depth < _DEEPEST else least
        schemas = [*first, *[schema.get("items", {})] * count][:count]
        return [self._value(inner, depth + 1, mistakes) for inner in schemas]

    def _text(self, schema: dict[str, Any]) -> str:
        text = self._random.choice(_TEXTS)
        least, most = schema.get("minLength", 0), schema.get("maxLength", 10**6)
        if self._random.random() < 0.8:
            text = (text + "a" * max(0, least - len(text)))[:most]
        return text

    def _number(self, schema: dict[str, Any], kind: str) -> int | float:
        bounds = [
            schema[name] for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if name in schema
        ]
        near = [bound + step for bound in bounds for step in (-1, 0, 1)]
        number: int | float = self._random.choice(near if near and self._random.random() < 0.8 else _NUMBERS)
        if kind == "integer" and isinstance(number, float) and not number.is_integer():
            return int(number)
        return number
