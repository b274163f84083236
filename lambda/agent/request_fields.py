"""Rules of what single models are asked with beside Converse, checked at start: else every turn would be refused.

What no rule here speaks of is sent as it is.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.errors import MisconfiguredError

_CLAUDE = re.compile(r"claude-(?:opus|sonnet|haiku|fable|mythos)-([0-9])(?:[-.]([0-9])(?![0-9]))?(?![0-9])")
_NOVA_2 = re.compile(r"nova-2-")
_EFFORTS = ("low", "medium", "high")


def check_request_fields(
    fields: Mapping[str, Any], model_ids: Sequence[str], max_tokens: int, temperature: float | None, top_p: float | None
) -> None:
    """Raises MisconfiguredError where one of the models would refuse the fields, or the sampling settings beside them."""
    for model_id in model_ids:
        version = _claude_version(model_id)
        # Claude's documentation, "What's new in Claude 4.7"
        for name, value in (("TEMPERATURE", temperature), ("TOP_P", top_p)):
            if version >= (4, 7) and value not in (None, 1):
                raise MisconfiguredError(detail=f"{name} is {value:g}, but {model_id} takes only 1: leave it unset.")
        _check_nova(fields.get("reasoningConfig"), model_id)
        thinking = fields.get("thinking")
        if isinstance(thinking, dict):
            _check_kind(thinking.get("type"), model_id, version)
    thinking = fields.get("thinking")
    if isinstance(thinking, dict) and thinking.get("type") == "enabled":
        _check_budget(thinking.get("budget_tokens"), max_tokens, temperature, top_p)
        if "top_k" in fields:
            raise MisconfiguredError(detail="MODEL_REQUEST_FIELDS holds top_k, but with thinking it must be unset.")


def has_high_effort(model_id: str, fields: Mapping[str, Any]) -> bool:
    """Whether Nova 2 is to reason with high effort, where it refuses maxTokens, temperature and topP.

    Source: the guide of Nova 2, "Extended thinking"; UKGovernmentBEIS/inspect_ai#3767.
    """
    asked = fields.get("reasoningConfig")
    is_asked = isinstance(asked, dict) and (asked.get("type"), asked.get("maxReasoningEffort")) == ("enabled", "high")
    return is_asked and bool(_NOVA_2.search(model_id))


def _claude_version(model_id: str) -> tuple[int, int]:
    """(4, 5) of claude-sonnet-4-5-20250929-v1:0; (0, 0) of another model, and of Claude 3."""
    found = _CLAUDE.search(model_id)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _check_kind(kind: object, model_id: str, version: tuple[int, int]) -> None:
    """Bedrock's guide, "Adaptive thinking": Claude 4.7 and later know no budgets, Claude 4.5 and earlier nothing else."""
    if kind == "enabled" and version >= (4, 7):
        wanted = '{"type": "adaptive"}'
    elif kind == "adaptive" and (0, 0) < version < (4, 6):
        wanted = '{"type": "enabled", "budget_tokens": 2048}'
    else:
        return
    told = f"MODEL_REQUEST_FIELDS asks for thinking of the type {kind}, but {model_id} takes only {wanted}"
    raise MisconfiguredError(detail=f"{told}, or none.")


def _check_budget(budget: object, max_tokens: int, temperature: float | None, top_p: float | None) -> None:
    """Bedrock's guide, "Extended thinking"."""
    if type(budget) is not int or not 1024 <= budget < max_tokens:
        told = f"MODEL_REQUEST_FIELDS asks for {budget!r} tokens of thinking"
        raise MisconfiguredError(detail=f"{told}, but they must be at least 1024 and below MAX_TOKENS ({max_tokens}).")
    if temperature not in (None, 1):
        raise MisconfiguredError(detail=f"TEMPERATURE is {temperature:g}, but with thinking it must be 1 or unset.")
    if top_p is not None and top_p < 0.95:
        raise MisconfiguredError(detail=f"TOP_P is {top_p:g}, but with thinking it must be 0.95 to 1 or unset.")


def _check_nova(asked: object, model_id: str) -> None:
    """The guide of Nova 2, "Extended thinking"."""
    if not (_NOVA_2.search(model_id) and isinstance(asked, dict) and asked.get("type") == "enabled"):
        return
    if asked.get("maxReasoningEffort") not in _EFFORTS:
        told = f"MODEL_REQUEST_FIELDS asks for the maxReasoningEffort {asked.get('maxReasoningEffort')!r}"
        raise MisconfiguredError(detail=f"{told}, but {model_id} takes {', '.join(_EFFORTS)}.")
