"""Rules of reasoning that goes back to the model (R-...): by the request itself, and by what was issued before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from local.bedrock.case import Case, of_kind, without_cache_points
from local.bedrock.issued import prefix_digest


def reasoning_is_kept(case: Case) -> Iterator[str]:
    """R-KEPT: by what was issued with the call; for calls from elsewhere, Claude with a thinking budget has reasoned.

    (With adaptive thinking it may have skipped that.)
    """
    must_reason = case.model.family == "anthropic" and case.thinking.get("type") == "enabled"
    for index in _tool_loop(case):
        message = case.messages[index]
        ids = _use_ids(message)
        if not ids or of_kind(message, "reasoningContent"):
            continue
        answers = case.issued.with_call(ids)
        if all(answer.reasoning for answer in answers) if answers else must_reason:
            yield f"messages[{index}] lacks the reasoning that came with its tool uses"


def reasoning_is_unchanged(case: Case) -> Iterator[str]:
    """R-UNCHANGED: told only where the calls of the message were issued here; mixtures are R-MERGED's."""
    merged = set(_merged(case))
    for index, message in enumerate(case.messages):
        sent = of_kind(message, "reasoningContent")
        answers = case.issued.with_call(_use_ids(message))
        if sent and answers and index not in merged and all(sent != answer.reasoning for answer in answers):
            yield f"the reasoning of messages[{index}] is not as it came with its tool uses"


def reasoning_is_not_merged(case: Case) -> Iterator[str]:
    """R-MERGED."""
    for index in _merged(case):
        yield f"messages[{index}] mixes the reasoning of several answers"


def signature_fits(case: Case) -> Iterator[str]:
    """R-SIGNATURE: that it fits is told only for texts and signatures that were issued here."""
    issued = case.issued.reasoning_texts()
    for path, block in case.blocks("reasoningContent"):
        if "reasoningText" not in block:
            continue
        sent = block["reasoningText"]
        halves_known = any(
            sent["text"] == known.get("text") or sent.get("signature") == known.get("signature") for known in issued
        )
        if not sent.get("signature"):
            yield f"{path} has no signature"
        elif halves_known and sent not in issued:
            yield f"the signature of {path} does not fit its text"


def reasoning_precedes_uses(case: Case) -> Iterator[str]:
    """R-ORDER."""
    for index, message in enumerate(case.messages):
        kinds = [kind for block in message["content"] for kind in block if kind in ("reasoningContent", "toolUse")]
        if kinds != sorted(kinds):  # "reasoningContent" sorts before "toolUse"
            yield f"messages[{index}] has reasoning after a toolUse"


def reasoning_is_not_last(case: Case) -> Iterator[str]:
    """R-LAST-BLOCK."""
    for index, message in enumerate(case.messages):
        blocks = without_cache_points(message["content"])
        if blocks and "reasoningContent" in blocks[-1]:
            yield f"messages[{index}] ends with reasoning"


def prefix_is_same(case: Case) -> Iterator[str]:
    """R-PREFIX and R-PREFIX-OTHER: told only for reasoning that was issued here."""
    for index, message in enumerate(case.messages):
        answers = [
            answer for block in of_kind(message, "reasoningContent") for answer in case.issued.with_reasoning(block)
        ]
        if answers and prefix_digest(case.request, index) not in {answer.prefix for answer in answers}:
            yield f"messages[{index}] sends reasoning back after another system prompt, tools or messages than before"


def thinking_forces_no_tool(case: Case) -> Iterator[str]:
    """R-THINK-CHOICE."""
    if case.thinking and case.tool_choice.keys() & {"any", "tool"}:
        yield "toolChoice must not force a tool while thinking is on"


def thinking_leaves_sampling(case: Case) -> Iterator[str]:
    """R-THINK-SAMPLING."""
    if not case.thinking:
        return
    if case.inference.get("temperature", 1) != 1:
        yield "temperature must be 1 or unset while thinking is on"
    if case.inference.get("topP", 1) < 0.95:
        yield "topP must be at least 0.95 or unset while thinking is on"
    if case.model_fields.get("top_k") is not None:
        yield "top_k must be unset while thinking is on"


def thinking_budget_fits(case: Case) -> Iterator[str]:
    """R-THINK-BUDGET: adaptive thinking has no budget."""
    if case.thinking.get("type") != "enabled":
        return
    budget = case.thinking.get("budget_tokens")
    if not isinstance(budget, int) or budget < 1024:
        yield f"the thinking budget is {budget} and must be at least 1024 tokens"
    elif budget >= case.inference.get("maxTokens", budget + 1):
        yield f"the thinking budget of {budget} must be below maxTokens"


def _use_ids(message: dict[str, Any]) -> set[str]:
    return {use["toolUseId"] for use in of_kind(message, "toolUse")}


def _tool_loop(case: Case) -> range:
    """The messages since the last question; empty where the last message is itself one."""
    questions = [
        index
        for index, message in enumerate(case.messages)
        if message["role"] == "user" and not of_kind(message, "toolResult")
    ]
    return range(questions[-1] + 1 if questions else 0, len(case.messages))


def _merged(case: Case) -> Iterator[int]:
    for index, message in enumerate(case.messages):
        origins = [
            {id(answer) for answer in case.issued.with_reasoning(block)}
            for block in of_kind(message, "reasoningContent")
        ]
        known = [origin for origin in origins if origin]
        if known and not set.intersection(*known):
            yield index
