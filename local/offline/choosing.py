"""Which of the offered tools fit a question, and the inputs that the question gives them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from local.offline.conversation import Tool
from local.offline.entities import Entities, extract, labelled, numbers_in
from local.offline.words import forms_of, words

# How much a word that question and tool share counts, by where the tool has it.
_IN_NAME, _IN_PARAMETER, _IN_DESCRIPTION, _IN_PARAMETER_TEXT = 4, 2, 1, 1
_TEXT_KINDS = [  # what a string parameter takes, by words of its name, then of its description
    ("emails", words("email")),
    ("dates", words("birthday date")),
    ("urls", words("url uri link")),
    ("phones", words("phone telephone")),
    ("departments", words("department")),
    ("titles", words("title")),
    ("places", words("city country region address destination area")),
    ("codes", words("id code key sku") | {"id"}),
    ("people", words("name person employee recipient customer user")),
    ("question", words("query question search keyword topic prompt")),
]
_TRUE, _FALSE = re.compile(r"\b(?:true|yes|on)\b|はい|有り"), re.compile(r"\b(?:false|no|off)\b|いいえ|無し")
_KINDS_WITH_A_FORM = ("emails", "dates", "urls", "phones", "codes")


@dataclass(frozen=True)
class _Asked:
    question: str
    entities: Entities


@dataclass(frozen=True)
class Choice:
    """A tool that fits the question: its input as far as the question fills it, and the required parameters left."""

    tool: Tool
    input: dict[str, Any]
    missing: tuple[str, ...]


def choose(question: str, tools: Sequence[Tool]) -> list[Choice]:
    """The tools that a question is about, best first; several only where each answers to words of its own."""
    asked = words(question)
    found = _Asked(question, extract(question))
    chosen: list[Choice] = []
    for tool in sorted(tools, key=lambda tool: -_score(asked, tool)):
        own = asked & words(tool.name)
        if not own and len(asked & words(tool.description)) < 2:
            continue
        choice = _filled(tool, found)
        explained = {word for other in chosen for word in _weights(other.tool)}
        if not (own or chosen) and choice.missing:
            continue  # too weak a sign to ask the user for more
        if not chosen or (own - explained and not choice.missing):
            chosen.append(choice)
    complete = [choice for choice in chosen if not choice.missing]
    return complete or chosen[:1]


def _score(asked: frozenset[str], tool: Tool) -> int:
    return sum(weight for word, weight in _weights(tool).items() if word in asked)


def _weights(tool: Tool) -> dict[str, int]:
    weights: dict[str, int] = {}
    texts = [schema.get("description", "") for schema in tool.parameters.values()]
    for text, weight in (
        (" ".join(texts), _IN_PARAMETER_TEXT),
        (tool.description, _IN_DESCRIPTION),
        (" ".join(tool.parameters), _IN_PARAMETER),
        (tool.name, _IN_NAME),
    ):
        weights |= dict.fromkeys(words(text), weight)  # the weightiest place comes last and counts
    return weights


def _filled(tool: Tool, asked: _Asked) -> Choice:
    values: dict[str, Any] = {}
    used: list[tuple[str, Any]] = []  # by kind: an entity fills one parameter
    for name, schema in tool.parameters.items():
        options = schema.get("enum")
        if isinstance(options, list):
            candidates = [(name, option) for option in _mentioned(name, options, asked.question)]
        else:
            candidates = _candidates(name, schema, asked, required=name in tool.required)
        free = [candidate for candidate in candidates if candidate not in used]
        if free:
            used.append(free[0])
            values[name] = free[0][1]
    return Choice(tool, values, tuple(name for name in tool.required if name not in values))


def _candidates(name: str, schema: dict[str, Any], asked: _Asked, *, required: bool) -> list[tuple[str, Any]]:
    """What may fill a parameter, as (kind, value), best first; an optional one takes only what is meant for it."""
    given = labelled(asked.question, name.replace("_", " "))
    match _type_of(schema):
        case "integer" | "number" as number_type:
            numbers = [*_numbers_beside(name, given, asked.question), *(asked.entities.numbers if required else ())]
            if number_type == "integer":
                return [("numbers", int(number)) for number in numbers if number == int(number)]
            return [("numbers", number) for number in numbers]
        case "boolean":
            return [(name, value) for value, sign in ((True, _TRUE), (False, _FALSE)) if sign.search(given)]
        case "array":
            items = schema.get("items")
            is_numbers = isinstance(items, dict) and _type_of(items) in ("integer", "number")
            values: tuple[Any, ...] = asked.entities.numbers if is_numbers else asked.entities.quotes
            return [(name, list(values))] if required and values else []
        case "object":
            return []
    kind = _text_kind(name, schema)
    return _beside(name, kind, asked) + _texts(kind, given, asked, required=required)


def _beside(name: str, kind: str, asked: _Asked) -> list[tuple[str, Any]]:
    """The code that stands behind the thing it is a code of, as in `order A-17` for an `order_id`."""
    if kind != "codes":
        return []
    forms = "|".join(re.escape(form) for form in forms_of(re.split(r"[_\W]", name)[0]))
    found = re.findall(
        rf"(?:{forms}) ?(?:number|no\.|番号)? ?[#の]?([A-Za-z0-9-]{{1,60}})", asked.question, re.IGNORECASE
    )
    return [(kind, code) for code in found if code in asked.entities.codes or code.isdigit()]


def _texts(kind: str, given: str, asked: _Asked, *, required: bool) -> list[tuple[str, Any]]:
    entities = asked.entities
    # a date or an address has a form of its own, which is safer than what stands behind a label
    found = [given] if given and kind not in _KINDS_WITH_A_FORM else [*getattr(entities, kind, ())]
    if kind == "codes":
        found += [str(number) for number in entities.numbers]
    if kind == "question" and required:
        found += [*entities.quotes, asked.question]
    if not kind and required:
        found += [*entities.quotes, *entities.places]
    return [(kind, text) for text in found]


def _numbers_beside(name: str, given: str, question: str) -> list[float | int]:
    """The numbers that stand behind a parameter's label or before its name, as in `6 sides`."""
    forms = "|".join(re.escape(form) for form in forms_of(name.replace("_", " ").rstrip("s")))
    before = re.findall(rf"(-?\d[\d.]{{0,30}})[ -]?(?:{forms})", question, re.IGNORECASE)
    return [*numbers_in(given), *numbers_in(" ".join(before))]


def _mentioned(name: str, options: list[Any], question: str) -> list[str]:
    """The options that the question mentions, in order; for a target such as `to_unit`, the last one first."""
    lowered = question.lower()
    places: dict[str, int] = {}
    for option in options:
        if isinstance(option, str) and option:
            places[option] = max(lowered.rfind(form.lower()) for form in forms_of(option))
    is_target = bool({"to", "target", "into"} & set(name.lower().split("_")))
    return sorted((option for option in places if places[option] >= 0), key=places.__getitem__, reverse=is_target)


def _type_of(schema: dict[str, Any]) -> str:
    """The first JSON type that isn't null, also of a union: optional parameters are unions with null."""
    unions = [schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list)]
    for option in [schema, *(option for union in unions for option in union if isinstance(option, dict))]:
        kinds = option.get("type")
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if isinstance(kind, str) and kind != "null":
                return kind
    return "string"


def _text_kind(name: str, schema: dict[str, Any]) -> str:
    """The kind of entity that a string parameter takes; blank where neither name nor description tells."""
    told = f"{schema['format']} " if isinstance(schema.get("format"), str) else ""
    told += schema.get("description", "")
    kinds = [kind for text in (name, told) for kind, signs in _TEXT_KINDS if words(text) & signs]
    return kinds[0] if kinds else ""
