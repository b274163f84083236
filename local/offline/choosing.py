"""Which of the offered tools fit a question, and the inputs that the question gives them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from local.offline.conversation import Tool
from local.offline.entities import extract, labelled, numbers_in
from local.offline.words import forms_of, words

_TEXT_KINDS = {  # what a string parameter takes, by words of its name, then of its description
    "emails": words("email"),
    "dates": words("birthday date"),
    "departments": words("department"),
    "titles": words("title"),
    "places": words("city country region address destination area"),
    "codes": words("code key sku") | {"id"},
    "people": words("name person employee recipient customer user"),
    "question": words("query question search keyword topic prompt"),
}


@dataclass(frozen=True)
class Choice:
    """A tool that fits the question: its input as far as the question fills it, and the required parameters left."""

    tool: Tool
    input: dict[str, Any]
    missing: tuple[str, ...]


def choose(question: str, tools: Sequence[Tool]) -> list[Choice]:
    """The tools that a question is about, best first; several only where each answers to words of its own."""
    asked = words(question)
    chosen: list[Choice] = []
    for tool in sorted(tools, key=lambda each: [-len(asked & words(text)) for text in (each.name, each.description)]):
        own = asked & words(tool.name)
        choice = _filled(tool, question)
        # a sign in the description alone is too weak to ask the user for more
        if not own and (choice.missing or len(asked & words(tool.description)) < 2):
            continue
        explained = {word for other in chosen for word in words(f"{other.tool.name} {other.tool.description}")}
        if not chosen or (own - explained and not choice.missing):
            chosen.append(choice)
    return [choice for choice in chosen if not choice.missing] or chosen[:1]


def _filled(tool: Tool, question: str) -> Choice:
    found = extract(question)
    values: dict[str, Any] = {}
    used: list[tuple[str, Any]] = []  # by kind: an entity fills one parameter
    for name, schema in tool.parameters.items():
        kind = _kind(name, schema)
        candidates = [(kind, value) for value in _values(name, kind, schema, question, found, name in tool.required)]
        free = [candidate for candidate in candidates if candidate not in used]
        if free:
            used.append(free[0])
            values[name] = free[0][1]
    return Choice(tool, values, tuple(name for name in tool.required if name not in values))


def _kind(name: str, schema: dict[str, Any]) -> str:
    """The kind of entity that a parameter takes; blank for a text of which neither name nor description tells."""
    if "enum" in schema or schema.get("type", "string") != "string":
        return "options" if "enum" in schema else str(schema["type"])
    texts = (name, str(schema.get("description", "")))
    return next((kind for text in texts for kind, signs in _TEXT_KINDS.items() if words(text) & signs), "")


def _values(
    name: str, kind: str, schema: dict[str, Any], question: str, found: dict[str, list[str]], required: bool
) -> list[Any]:
    """What may fill a parameter, best first; an optional one takes only what is meant for it."""
    given = labelled(question, name.replace("_", " "))
    if kind in ("integer", "number"):
        numbers = numbers_in(given) + (numbers_in(found["rest"][0]) if required else [])
        return [int(each) if kind == "integer" else each for each in numbers if kind == "number" or each == int(each)]
    if kind == "options":
        options = [each for each in schema["enum"] if isinstance(each, str) and each]
        places = {each: max(question.lower().rfind(form.lower()) for form in forms_of(each)) for each in options}
        return sorted((each for each in options if places[each] >= 0), key=places.__getitem__)
    if kind == "codes":
        return [*found["codes"], *(str(number) for number in numbers_in(found["rest"][0]))]
    # a date or an address has a form of its own, which is safer than what stands behind a label
    texts = [given] if given and kind not in ("emails", "dates") else found.get(kind, [])
    if kind == "question" and required:
        return texts + found["quotes"] + [question]
    return texts + found["quotes"] + found["places"] if not kind and required else texts
