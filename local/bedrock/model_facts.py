"""What a model id tells: the family of the model, Claude's version, and limits that were reported or documented."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Family = Literal["anthropic", "nova", "meta", "mistral", "other", "unknown"]

# First match wins: (pattern of the model's name, most output tokens, context window in tokens). The output limits are
# those that refused requests or model cards name; a model that isn't here has no known limit.
_LIMITS: tuple[tuple[str, int | None, int], ...] = (
    (r"claude-(opus|sonnet|haiku|fable)-5", 128_000, 1_000_000),
    (r"claude-(opus|sonnet)-4-[6-9]", None, 1_000_000),
    (r"claude-opus-4-5", 64_000, 200_000),
    (r"claude-opus-4", 32_000, 200_000),
    (r"claude-(sonnet|haiku)-4", 64_000, 200_000),
    (r"claude-3-7", 128_000, 200_000),
    (r"claude-3-5", 8_192, 200_000),
    (r"claude-3", 4_096, 200_000),
    (r"nova-micro", 10_000, 128_000),
    (r"nova-(lite|pro)", 10_000, 300_000),
    (r"nova", None, 1_000_000),
    (r"llama3|mistral", None, 128_000),
)
_VENDORS: dict[str, Family] = {"anthropic": "anthropic", "meta": "meta", "mistral": "mistral"}
# Resources of an ARN whose last part names a model; what stands behind any other can't be told from the id.
_TELLING_RESOURCES = frozenset({"foundation-model", "inference-profile", "custom-model", "default-prompt-router"})


@dataclass(frozen=True)
class ModelFacts:
    """A model as its id tells it; `version` is Claude's, as (major, minor)."""

    name: str
    family: Family
    version: tuple[int, int] | None
    max_output_tokens: int | None
    context_window: int | None
    is_prompt: bool = False

    def at_least(self, major: int, minor: int) -> bool:
        """Whether this is a Claude of this version or later."""
        return self.version is not None and self.version >= (major, minor)


Applies = Callable[[ModelFacts], bool]
"""Which models a rule is for."""


def model_facts(model_id: str) -> ModelFacts:
    """The facts of a bare model id, an inference profile's id, or an ARN of either; `unknown` where it doesn't tell."""
    is_prompt = ":prompt/" in model_id
    name = model_id
    if model_id.startswith("arn:"):
        resource, _, rest = model_id.split(":", 5)[-1].partition("/")
        name = rest.partition("/")[0] if resource in _TELLING_RESOURCES else ""
    family = _family(name)
    version = _claude_version(name) if family == "anthropic" else None
    for pattern, max_output_tokens, context_window in _LIMITS:
        if re.search(pattern, name):
            return ModelFacts(name, family, version, max_output_tokens, context_window, is_prompt)
    return ModelFacts(name, family, version, None, None, is_prompt)


def any_model(_: ModelFacts) -> bool:
    """All models."""
    return True


def families(*names: Family) -> Applies:
    """The models of these families."""
    return lambda model: model.family in names


def binds_reasoning(model: ModelFacts) -> bool:
    """Models whose reasoning is refused after another prefix: Claude Fable from 5.1 on."""
    return "fable" in model.name and model.at_least(5, 1)


def binds_no_reasoning(model: ModelFacts) -> bool:
    """All models but those."""
    return not binds_reasoning(model)


def _family(name: str) -> Family:
    parts = name.split(".")
    if len(parts) == 1:
        return "unknown"
    for vendor, model in pairwise(parts):
        if vendor in _VENDORS:
            return _VENDORS[vendor]
        if vendor == "amazon" and model.startswith("nova"):
            return "nova"
    return "other"


def _claude_version(name: str) -> tuple[int, int] | None:
    """(4, 5) of claude-sonnet-4-5-20250929-v1:0, (3, 5) of claude-3-5-sonnet-..., (2, 0) of claude-v2."""
    match = re.search(r"claude(?:-[a-z]+)*-v?(\d{1,2})(?!\d)(?:-(\d{1,2})(?!\d))?", name)
    return (int(match[1]), int(match[2] or 0)) if match else None
