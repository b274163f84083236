"""The offline model: one Converse request in, one reply out, by rules alone.

It keeps no state and knows only what the request holds, so the same request always gets the same reply.
"""

from collections.abc import Sequence
from typing import Any

from local.bedrock.reply import Reply, text_reply, tool_use_reply
from local.offline import phrasing
from local.offline.calculation import Progress, is_arithmetic, next_step
from local.offline.choosing import choose
from local.offline.conversation import Conversation, read
from local.offline.entities import extract
from local.offline.formulas import find_formula
from local.offline.names import asks_for_name, told_name

BANNER = (
    "The offline model is no language model: it answers by fixed rules, from the request and the tools' results alone."
)

# Families that refuse a message with both text and tool uses.
_TOOL_USES_STAND_ALONE = ("meta.", "mistral.")


def answer(model_id: str, request: dict[str, Any]) -> Reply:
    """Answer the body of a Converse request, with tool uses or with text. Never raises."""
    conversation = read(request)
    decision = _decide(conversation)
    if conversation.concluding and not isinstance(decision, str):
        decision = phrasing.concluded(conversation.question, conversation.calls)
    if isinstance(decision, str):
        return text_reply(decision.encode(errors="replace").decode())
    ids = _new_ids(conversation.use_ids, len(decision))
    alone = any(family in model_id for family in _TOOL_USES_STAND_ALONE)
    text = "" if alone else phrasing.before_tools(conversation.question, [name for name, _ in decision])
    uses = [(use_id, name, arguments) for use_id, (name, arguments) in zip(ids, decision, strict=True)]
    return tool_use_reply(*uses, text=text)


def _decide(conversation: Conversation) -> str | Sequence[tuple[str, dict[str, Any]]]:
    """The text to answer, or the tool uses to ask for as (name, input)."""
    question, calls = conversation.question, conversation.calls
    formula = find_formula(extract(question).rest)
    progress = next_step(formula, conversation.tools, calls) if formula else None
    if formula and progress and progress.value is not None:
        return phrasing.value(question, formula, progress)
    if progress:
        return progress.wanted or _failure(question, progress)
    if asks_for_name(question):
        return phrasing.name_recalled(question, told_name(conversation.told))
    choices = choose(question, [tool for tool in conversation.tools if not (formula and is_arithmetic(tool))])
    made = [(call.tool, call.input) for call in calls]
    complete = [(choice.tool.name, choice.input) for choice in choices if not choice.missing]
    wanted = [use for use in complete if use not in made]
    if wanted:
        return wanted
    if calls:
        return phrasing.results(question, calls)
    if choices:
        return phrasing.missing(question, choices[0])
    if formula:
        return phrasing.no_calculation(question, formula)
    name = told_name([question])
    return phrasing.name_noted(question, name) if name else phrasing.nothing_fits(question)


def _failure(question: str, progress: Progress) -> str:
    return phrasing.results(question, [progress.failure] if progress.failure else [])


def _new_ids(taken: Sequence[str], count: int) -> list[str]:
    """Ids that count on from the tool uses so far, past any that a history cut at its start still holds."""
    ids: list[str] = []
    number = len(taken)
    while len(ids) < count:
        if f"tooluse_{number}" not in taken:
            ids.append(f"tooluse_{number}")
        number += 1
    return ids
