"""Cache points for prompt caching, where the model has it: behind tools and system, the question, and the latest results.

At most four, as Bedrock allows. Claude from 3.5 Haiku and 3.7 on takes them everywhere, Nova not behind tools; others refuse
them (Bedrock's guide, "Prompt caching"). What is shorter than a model's minimum is just not cached.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.messages import Message, has_tool_results

_POINT = {"cachePoint": {"type": "default"}}
_CLAUDE = re.compile(r"anthropic\.claude-(3-5-haiku|3-7-|(opus|sonnet|haiku)-[4-9]|fable)")
_NOVA = re.compile(r"amazon\.nova-(micro|lite|pro|premier)")


def has_caching(model_id: str) -> bool:
    """Whether the id names a model that takes cache points; one that hides its model counts as one that doesn't."""
    return bool(_CLAUDE.search(model_id) or _NOVA.search(model_id))


def with_cache_points(parameters: Mapping[str, Any], model_id: str) -> dict[str, Any]:
    """The parameters of a Converse request, with cache points; unchanged for a model without."""
    if not has_caching(model_id):
        return dict(parameters)
    cached = {**parameters, "messages": _in_messages(parameters["messages"])}
    if "system" in parameters:
        cached["system"] = [*parameters["system"], _POINT]
    if "toolConfig" in parameters and not _NOVA.search(model_id):
        cached["toolConfig"] = {**parameters["toolConfig"], "tools": [*parameters["toolConfig"]["tools"], _POINT]}
    return cached


def _in_messages(messages: Sequence[Message]) -> list[Message]:
    """Behind the turn's question, which later turns begin with too, and behind its latest results."""
    questions = [n for n, message in enumerate(messages) if message["role"] == "user" and not has_tool_results(message)]
    points = {questions[-1], len(messages) - 1} if questions else set()
    return [
        {"role": message["role"], "content": [*message["content"], _POINT]} if number in points else message
        for number, message in enumerate(messages)
    ]
