"""What a model sent, made safe to act on and to send back: known blocks only, tool uses last, valid names and unique ids."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress

from agent.messages import TOOL_NAME, Block, Message, clean_json, clean_text, has_reasoning, unique_id
from agent.ports import ToolCall

MAX_INPUT_CHARS = 100_000  # of a tool use as JSON: a turn must fit an item of the session table


def clean_reply(content: Sequence[Block], seen: set[str], model_id: str = "") -> tuple[Message | None, list[ToolCall]]:
    """The assistant message of this model to keep, or None where nothing can be kept, and its tool uses in order.

    `seen` holds the tool use ids of the conversation so far and gets the new ones. Reasoning stays as it came, in its order,
    before the first tool use; a message that has nothing else counts as empty, since Claude refuses it.
    """
    said: list[Block] = []
    used: list[Block] = []
    calls: list[ToolCall] = []
    beside: Block = {}
    for block in content:
        match block:
            case {"beside": {"message": dict(), "calls": list()}}:
                beside = block["beside"]
            case {"text": str(text)} if text.strip():
                said.append({"text": clean_text(text)})
            case {"toolUse": dict(use)}:
                call = _tool_call(use, seen)
                calls.append(call)
                used.append({"toolUse": {"toolUseId": call.tool_use_id, "name": call.name, "input": call.input}})
            case {"reasoningContent": {"reasoningText": {"text": str()}} | {"redactedContent": bytes()}}:
                said.append({"reasoningContent": block["reasoningContent"]})
            case {"citationsContent": {"content": list(parts)}}:
                texts = [p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)]
                if "".join(texts).strip():
                    said.append({"text": clean_text("".join(texts))})
    if not used:
        while said and "reasoningContent" in said[-1]:
            said.pop()
    message: Message = {"role": "assistant", "content": said + used}
    if used and (beside or has_reasoning(message)):
        message["model"] = model_id
    if used and beside:
        raw = zip(calls, beside["calls"], strict=False)
        with suppress(ValueError, RecursionError):  # too deep to be sent back
            message["beside"] = clean_json({**beside, "calls": {call.tool_use_id: each for call, each in raw}})
    return (message if said or used else None), calls


def can_wait(calls: Sequence[ToolCall]) -> bool:
    """Whether a step can be kept until a person has decided: all of it understood, and not too long."""
    return not any(call.problem for call in calls) and sum(len(str(call.input)) for call in calls) <= MAX_INPUT_CHARS


def fingerprint(call: ToolCall) -> str:
    """The same for calls of the same tool with the same input."""
    return f"{call.name} {json.dumps(call.input, sort_keys=True)}"


def _tool_call(use: Block, seen: set[str]) -> ToolCall:
    name, value, problem = use.get("name"), use.get("input"), ""
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        problem = "This is no name of a tool."
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] if isinstance(name, str) and name else "unnamed"
    if not isinstance(value, dict):
        problem = problem or f"{name}: the input must be a JSON object that holds the arguments."
        value = {}
    try:
        value = clean_json(value)
        if len(json.dumps(value, ensure_ascii=False)) > MAX_INPUT_CHARS:
            raise ValueError("too long")
    except (ValueError, RecursionError):
        problem, value = problem or f"{name}: the input is too long, nested too deeply, or no JSON.", {}
    return ToolCall(unique_id(use.get("toolUseId"), seen), name, value, problem)
