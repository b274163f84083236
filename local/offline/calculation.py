"""Working out a formula with the offered tools, step by step, from the numbers that they returned."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from local.offline.conversation import Call, Tool
from local.offline.formulas import Formula, Operation
from local.offline.results import number_of
from local.offline.words import forms_of, words

# Identities of trigonometry, for functions that no offered tool has: dividend (blank for 1) and divisor.
_IDENTITIES = {
    "tangent": ("sine", "cosine"),
    "cotangent": ("cosine", "sine"),
    "secant": ("", "cosine"),
    "cosecant": ("", "sine"),
}
# Words in a tool's name that don't make it something else than plain arithmetic (as `add_to_cart` would be).
_NEUTRAL_WORDS = words(
    "numbers two values integers floats int float calculate calculator math maths function op x y a b"
)


@dataclass(frozen=True)
class Progress:
    """Where a calculation stands: tool uses to ask for as (name, input), else the number or the call that failed."""

    wanted: tuple[tuple[str, dict[str, Any]], ...] = ()
    value: float | int | None = None
    failure: Call | None = None


def next_step(formula: Formula, tools: Sequence[Tool], calls: Sequence[Call]) -> Progress | None:
    """The next step towards the formula's value; None where the offered tools can't get there."""
    if _is_computable(formula.root, tools):
        return _resolve(formula.root, tools, calls)
    calculator = _calculator(tools)
    if calculator and not formula.has_functions:
        return _called(calculator.name, {calculator.required[0]: formula.text}, calls)
    return None


def is_arithmetic(tool: Tool) -> bool:
    """Whether a tool takes numbers alone, so that a formula which can't be worked out must not end up in it."""
    return bool(tool.required) and _takes_numbers(tool, len(tool.required))


def _is_computable(node: Operation | float, tools: Sequence[Tool]) -> bool:
    if not isinstance(node, Operation):
        return True
    if not _tool_for(node, tools):
        expanded = _expanded(node)
        return expanded is not None and _is_computable(expanded, tools)
    return all(_is_computable(operand, tools) for operand in node.operands)


def _resolve(node: Operation | float, tools: Sequence[Tool], calls: Sequence[Call]) -> Progress:
    if not isinstance(node, Operation):
        return Progress(value=node)
    operands = [_resolve(operand, tools, calls) for operand in node.operands]
    failure = next((operand.failure for operand in operands if operand.failure), None)
    if failure:
        return Progress(failure=failure)
    wanted = [use for operand in operands for use in operand.wanted]
    if wanted:
        return Progress(wanted=tuple(use for index, use in enumerate(wanted) if use not in wanted[:index]))
    values = [operand.value for operand in operands]
    tool = _tool_for(node, tools)
    if tool:
        return _called(tool.name, dict(zip(_operand_names(tool), values, strict=True)), calls)
    # Like a model that counts on a tool it was never offered: the error that comes back leads to the identity.
    tried = _called(node.name, {"x": values[0]}, calls)
    expanded = _expanded(node)
    return _resolve(expanded, tools, calls) if tried.failure and expanded else tried


def _called(name: str, arguments: dict[str, Any], calls: Sequence[Call]) -> Progress:
    """What a call gave, or the wish to make it; a call is never made twice in a turn."""
    made = next((call for call in calls if call.tool == name and call.input == arguments), None)
    if made is None:
        return Progress(wanted=((name, arguments),))
    value = None if made.failed else number_of(made)
    return Progress(failure=made) if value is None else Progress(value=value)


def _expanded(node: Operation) -> Operation | None:
    if node.name not in _IDENTITIES:
        return None
    parts = (Operation(part, node.operands) if part else 1 for part in _IDENTITIES[node.name])
    return Operation("divide", tuple(parts))


def _tool_for(node: Operation, tools: Sequence[Tool]) -> Tool | None:
    concept = words(node.name)
    for tool in tools:
        named = words(tool.name)
        told = named if concept & named else words(tool.description)
        is_plain = not named - concept - _NEUTRAL_WORDS - words(" ".join(forms_of(node.name)))
        if concept & told and is_plain and _takes_numbers(tool, len(node.operands)):
            return tool
    return None


def _takes_numbers(tool: Tool, count: int) -> bool:
    types = [tool.parameters.get(name, {}).get("type") for name in tool.required]
    return len(types) == count and all(kind in ("number", "integer") for kind in types)


def _operand_names(tool: Tool) -> list[str]:
    """The parameters in the order of the operands: as in the spec, unless the description says it otherwise."""
    names = [name for name in tool.parameters if name in tool.required]
    said = re.search(r"\b(\w{1,40}) (by|from) (\w{1,40})\b", tool.description)
    if said and {said[1], said[3]} == set(names):
        return [said[1], said[3]] if said[2] == "by" else [said[3], said[1]]
    return names


def _calculator(tools: Sequence[Tool]) -> Tool | None:
    for tool in tools:
        schemas = [tool.parameters.get(name, {}) for name in tool.required]
        if len(schemas) == 1 and schemas[0].get("type") == "string" and words(tool.required[0]) & words("formula"):
            return tool
    return None
