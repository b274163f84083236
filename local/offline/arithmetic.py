"""The calculation that a question asks for, worked out step by step with the offered tools, from what they returned."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from local.offline.conversation import Call, Tool
from local.offline.entities import numbers_in
from local.offline.words import forms_of, words

Use = tuple[str, dict[str, Any]]
Outcome = float | int | list[Use] | Call | None
"""A number, the tool uses to ask for next, the call that failed, or None where the offered tools can't get there."""

_FUNCTIONS = {
    "sine": "sine|sin|正弦|サイン",
    "cosine": "cosine|cos|余弦|コサイン",
    "tangent": "tangent|tan|正接|タンジェント",
}
_OPERATORS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
_N = r"(-?\d{1,15}(?:\.\d{1,15})?)"
_TWO = re.compile(rf"{_N} ?([-+*/]) ?{_N}")
_RUN = re.compile(r"[-\d(][-+*/\d. ()]{1,120}")
_ASKS_FOR_A_VALUE = re.compile(r"what|calculate|compute|how much|計算|いくつ|教えて|=|は\?", re.IGNORECASE)
# Words in a tool's name that don't make it something else than plain arithmetic (as `add_to_cart` would be).
_NEUTRAL_WORDS = words("numbers two values calculate math function op x y a b")


@dataclass(frozen=True)
class Formula:
    """A calculation: its text, and what it is one step of on its operands; blank where it takes several steps."""

    text: str
    name: str
    operands: tuple[float | int, ...]


def find_formula(text: str) -> Formula | None:
    """The calculation that a text asks for, or None. Dates and codes must be blanked out."""
    for name, forms in _FUNCTIONS.items():
        said = rf"(?<![A-Za-z])(?:{forms})(?![A-Za-z]) ?(?:of )?\(? ?{_N} ?\)?( ?[-+*/^])?|{_N} ?の ?(?:{forms})"
        if found := re.search(said, text, re.IGNORECASE):
            numbers = tuple(numbers_in(found[1] or found[3]))
            return Formula(found[0], "", ()) if found[2] else Formula(f"{name}({numbers[0]})", name, numbers)
    run = max(_RUN.findall(text), key=len, default="").strip(" .")
    if not _TWO.search(run) or not (_ASKS_FOR_A_VALUE.search(text) or len(run) >= 0.8 * len(text.strip())):
        return None
    whole = _TWO.fullmatch(run)
    return (
        Formula(run, _OPERATORS[whole[2]], (*numbers_in(whole[1]), *numbers_in(whole[3])))
        if whole
        else Formula(run, "", ())
    )


def work_out(formula: Formula, tools: Sequence[Tool], calls: Sequence[Call]) -> Outcome:
    """What becomes of a formula with the tools, after these calls."""
    for tool in tools:  # a calculator takes the whole formula as a text
        is_for_formulas = len(tool.required) == 1 and words(tool.required[0]) & words("formula")
        if is_for_formulas and not is_arithmetic(tool) and not formula.text[0].isalpha():
            return _called(tool.name, {tool.required[0]: formula.text}, calls)
    if tool_for_it := _tool_for(formula.name, len(formula.operands), tools):
        return _called(tool_for_it.name, dict(zip(tool_for_it.required, formula.operands, strict=True)), calls)
    sine, cosine, divide = _tool_for("sine", 1, tools), _tool_for("cosine", 1, tools), _tool_for("divide", 2, tools)
    if formula.name != "tangent" or not (sine and cosine and divide):
        return None
    # Like a model that counts on a tool it was never offered: the error that comes back leads to what it can use.
    tried = _called("tangent", {"x": formula.operands[0]}, calls)
    if not isinstance(tried, Call):
        return tried
    parts = [_called(each.name, {each.required[0]: formula.operands[0]}, calls) for each in (sine, cosine)]
    if failed := [part for part in parts if isinstance(part, Call)]:
        return failed[0]
    wanted = [use for part in parts if isinstance(part, list) for use in part]
    return wanted or _called(divide.name, dict(zip(divide.required, parts, strict=True)), calls)


def is_arithmetic(tool: Tool) -> bool:
    """Whether a tool takes numbers alone, so that a formula which can't be worked out must not end up in it."""
    kinds = [tool.parameters.get(name, {}).get("type") for name in tool.required]
    return bool(kinds) and all(kind in ("number", "integer") for kind in kinds)


def _called(name: str, arguments: dict[str, Any], calls: Sequence[Call]) -> Outcome:
    """The last number of what a call gave, or the wish to make it; a call is never made twice in a turn."""
    made = next((call for call in calls if call.tool == name and call.input == arguments), None)
    if made is None:
        return [(name, arguments)]
    numbers = [] if made.failed else numbers_in(made.report[-1000:])
    return numbers[-1] if numbers else made


def _tool_for(name: str, operands: int, tools: Sequence[Tool]) -> Tool | None:
    concept, forms = words(name), words(" ".join(forms_of(name)))
    for tool in tools:
        named = words(tool.name)
        is_plain = concept & named and not named - concept - _NEUTRAL_WORDS - forms
        if is_plain and is_arithmetic(tool) and len(tool.required) == operands:
            return tool
    return None
