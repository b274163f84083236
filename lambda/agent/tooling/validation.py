"""Whether an input keeps to a JSON schema (Draft 2020-12), as jsonschema judges it; its patterns run on RE2.

Patterns come from elsewhere, and Python's `re` can take for ever with one while it holds up every thread. Both packages are
imported here alone, so that only who has such a tool needs them.
"""

import json
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from typing import Any

from agent.tooling.schemas import WrongArgumentsError
from agent.tooling.told_schemas import Schema, Told, plain_schema, told_schema

_ERRORS_TOLD = 3
_LONGEST = 300  # characters of what is told of one place
# What Python's `re`, which is jsonschema's, means by a sign; RE2 means ASCII, and the end alone by $
_WORD, _SPACE = r"\p{L}\p{N}_", r"\s\v\x1c-\x1f\x{85}\p{Z}"
_SIGNS = {r"\w": f"[{_WORD}]", r"\W": f"[^{_WORD}]", r"\s": f"[{_SPACE}]", r"\S": f"[^{_SPACE}]"}
_SIGNS |= {r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", r"\Z": r"\z", "$": r"(?:\n?\z)"}


def judged(given: object) -> tuple[Told, Callable[[dict[str, Any]], dict[str, Any]]]:
    """What to tell of a schema, and what gives an input back or raises WrongArgumentsError, with place and reason.

    Raises TypeError for a schema that can't be told or has a pattern that RE2 doesn't take, and where a package is missing.
    """
    try:
        jsonschema, registry, re2 = map(import_module, ("jsonschema", "referencing", "re2"))
    except ImportError as error:
        needs = "it is made from a JSON schema, so that the .in of its module has to name jsonschema and google-re2"
        raise TypeError(f"{needs} ({error})") from None
    plain = plain_schema(given)
    draft = jsonschema.Draft202012Validator
    try:
        draft.check_schema(plain, format_checker=None)
        told = told_schema(plain)
    except jsonschema.SchemaError as error:
        raise TypeError(f"its schema is none at {error.json_path}: {error.message[:_LONGEST]}") from None
    except RecursionError:
        raise TypeError("its schema is nested too deeply") from None
    keywords = _keywords(
        _search(re2, told.patterns), draft.VALIDATORS["additionalProperties"], jsonschema.ValidationError
    )
    # a registry of its own, since the usual one would fetch what a schema names
    judge = jsonschema.validators.extend(draft, keywords)(plain, registry=registry.Registry())

    def check(value: dict[str, Any]) -> dict[str, Any]:
        try:
            errors = list(islice(judge.iter_errors(value), _ERRORS_TOLD))
        except RecursionError:
            raise WrongArgumentsError("the input is nested too deeply") from None
        if errors:
            raise WrongArgumentsError(
                "; ".join(_reason(each, jsonschema.exceptions.best_match([each])) for each in errors)
            )
        return value

    return told, check


def _reason(error: Any, inner: Any) -> str:
    """The place and what is allowed there. `inner` is the likeliest cause within a choice, told where it lies deeper."""
    error = inner if len(inner.absolute_path) > len(error.absolute_path) else error
    if error.validator in ("required", "additionalProperties"):  # whose messages hold names alone
        known = ", ".join(error.schema.get("properties", ()))
        return f"{error.json_path}: {error.message[:_LONGEST]} (known: {known[:_LONGEST]})"
    allowed = json.dumps({error.validator: error.validator_value}, ensure_ascii=False) if error.validator else "nothing"
    return f"{error.json_path} must fit {allowed if len(allowed) <= _LONGEST else allowed[:_LONGEST] + '…'}"


def _keywords(search: Callable[[str, str], bool], additional: Any, problem: Callable[[str], Any]) -> dict[str, Any]:
    """The keywords that know patterns, with another search. `additional` is the usual check of additional properties."""

    def pattern(validator: Any, wanted: str, value: Any, _: Schema) -> Iterator[Any]:
        if isinstance(value, str) and not search(wanted, value):
            yield problem("does not match")

    def pattern_properties(validator: Any, schemas: Schema, value: Any, _: Schema) -> Iterator[Any]:
        for wanted, inner in schemas.items():
            for name in value if isinstance(value, dict) else ():
                if search(wanted, name):
                    yield from validator.descend(value[name], inner, path=name)

    def additional_properties(validator: Any, allowed: Any, value: Any, schema: Schema) -> Iterator[Any]:
        patterns = schema.get("patternProperties", ())
        if patterns and isinstance(value, dict):
            value = {name: each for name, each in value.items() if not any(search(wanted, name) for wanted in patterns)}
        return additional(validator, allowed, value, {"properties": schema.get("properties", {})})  # type: ignore[no-any-return]

    return {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
    }


def _search(re2: Any, patterns: frozenset[str]) -> Callable[[str, str], bool]:
    """Whether a pattern is found in a text, in time that grows with the text alone."""
    options = re2.Options()
    options.log_errors = False
    compiled = {}
    for each in patterns:
        try:
            compiled[each] = re2.compile(_in_re2(each), options)
        except re2.error as error:
            raise TypeError(f"its pattern {each[:_LONGEST]!r} is none that RE2 takes: {error}") from None
    return lambda pattern, text: compiled[pattern].search(text) is not None


def _in_re2(pattern: str) -> str:
    def sign(found: re.Match[str]) -> str:
        if found[0][0] != "[":
            return _SIGNS.get(found[0], found[0])
        return re.sub(r"\\.", lambda each: _SIGNS[each[0]].strip("[]") if each[0][1] in "dws" else each[0], found[0])

    pattern = re.sub(r"(?<!\\)\\u([0-9A-Fa-f]{4})", r"\\x{\1}", pattern)
    return re.sub(r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|\$", sign, pattern, flags=re.DOTALL)
