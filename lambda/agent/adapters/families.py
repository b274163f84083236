"""What a family of models takes otherwise than Converse says, in the tools that it is offered."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from agent.messages import Block, Message
from agent.ports import ModelReply, ModelRequest

_MARKS = {
    "anthropic.": "anthropic",
    "amazon.nova": "nova",
    "amazon/nova": "nova",
    "meta.": "meta",
    "mistral.": "mistral",
}
_ROOT = ("type", "properties", "required")


def family_of(model_id: str, told: str = "") -> str:
    """The family as its id says it, else as MODEL_FAMILY does; "" where neither does, since an ARN may hide any."""
    known = next((family for mark, family in _MARKS.items() if mark in model_id), "")
    return known or told or ("" if model_id.startswith("arn:") else "other")


def suited(family: str, request: ModelRequest, ask: Callable[[ModelRequest], ModelReply]) -> ModelReply:
    """The reply to the request in the form that the family takes; tools are named in it as in the request.

    Nova refuses a schema that has more at its root than three keywords (pydantic/pydantic-ai#1623), or ignores its tool, and
    writes calls that can't be parsed where a name has a hyphen (SEMOSS/Semoss#2892). Where the family isn't known its
    needs are met, too: no other minds.
    """
    if family not in ("nova", ""):
        return ask(request)
    names = _names([each["toolSpec"]["name"] for each in request.tools])
    tools = [
        {"toolSpec": {**_bare(each["toolSpec"]), "name": names[each["toolSpec"]["name"]]}} for each in request.tools
    ]
    messages: list[Message] = [
        {
            "role": each["role"],
            "content": [_renamed(block, lambda name: names.get(name, _plain(name))) for block in each["content"]],
        }
        for each in request.messages
    ]
    reply = ask(replace(request, tools=tools, messages=messages))
    back = {theirs: ours for ours, theirs in names.items()}
    return replace(reply, content=[_renamed(block, lambda name: back.get(name, name)) for block in reply.content])


def _names(names: Sequence[str]) -> dict[str, str]:
    """Each name and one like it without hyphens; those that are alike then are told apart."""
    found: dict[str, str] = {}
    for name in sorted(names, key=lambda each: "-" in each):
        plain = _plain(name)
        while plain in found.values():
            plain = f"{plain[:50]}_{len(found)}{len(plain)}"
        found[name] = plain
    return found


def _renamed(block: Block, renamed: Callable[[str], str]) -> Block:
    use = block.get("toolUse")
    if not isinstance(use, dict) or not isinstance(use.get("name"), str):
        return block
    return {**block, "toolUse": {**use, "name": renamed(use["name"])}}


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _bare(spec: dict[str, Any]) -> dict[str, Any]:
    schema = spec["inputSchema"]["json"]
    rest = {key: value for key, value in schema.items() if key not in _ROOT}
    if not rest:
        return spec
    said = f"The input must also fit this JSON schema: {json.dumps(rest, ensure_ascii=False)}"
    bare = {key: value for key, value in schema.items() if key in _ROOT}
    return {
        **spec,
        "description": "\n\n".join(filter(None, (spec.get("description"), said))),
        "inputSchema": {"json": bare},
    }
