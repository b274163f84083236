"""A model that learns what its provider refuses: asked again without it, and from then on never asked with it.

Each change makes a request that is valid for Converse of one that was, and leaves others as they are.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable

from msgspec.structs import replace

from agent.adapters.refusals import TELL
from agent.deadline import Deadline
from agent.errors import ModelError
from agent.messages import Block, Message, Usage, has_reasoning, tool_uses
from agent.ports import Model, ModelReply, ModelRequest, TextListener

_STRICT_ID = re.compile(r"[a-zA-Z0-9]{9}")  # Mistral's, the narrowest form that is known


class MendingModel:
    """The Model port over another model. `warn` is told once of each thing that the model doesn't take."""

    def __init__(self, model: Model, warn: Callable[..., None]) -> None:
        self.model_id = model.model_id
        self._model = model
        self._warn = warn
        self._learned: set[str] = set()

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        """One answer; see the Model port for what it raises."""
        shown = self.model_id.rpartition("/")[2] if self.model_id.startswith("arn:") else self.model_id
        while True:
            fitted = request
            for name, change in _CHANGES.items():
                fitted = change(fitted) if name in self._learned else fitted
            heard = None if "streaming" in self._learned else listener
            try:
                return self._model.converse(fitted, deadline, heard)
            except ModelError as error:
                if TELL in error.remedies:  # the loop tells the model of it, once
                    return ModelReply([], "malformed_tool_use", Usage(), shown, error.detail)
                changed = {name for name, change in _CHANGES.items() if change(fitted) != fitted}
                changed |= {"streaming"} if heard else set()
                remedy = next((each for each in error.remedies if each in changed - self._learned), "")
                if not remedy:
                    raise
                self._learned.add(remedy)
                self._warn("the model is asked in another form", model=shown, form=remedy, detail=error.detail)
                if heard:
                    heard.void()


def _each(change: Callable[[Message], Message]) -> Callable[[ModelRequest], ModelRequest]:
    return lambda request: replace(request, messages=[change(message) for message in request.messages])


def _with_short_ids(message: Message) -> Message:
    """With each id of a tool use as nine letters and digits: the same for the same id, and another for any other."""
    content: list[Block] = []
    for block in message["content"]:
        [(kind, value)] = block.items()
        name = value["toolUseId"] if kind in ("toolUse", "toolResult") else ""
        if name and not _STRICT_ID.fullmatch(name):
            digest = base64.b32encode(hashlib.sha256(name.encode()).digest()).decode()
            block = {kind: {**value, "toolUseId": digest[:9]}}
        content.append(block)
    return {**message, "content": content}


def _one_by_one(request: ModelRequest) -> ModelRequest:
    """With the tool uses of one message one after the other, each followed by its result."""
    messages: list[Message] = []
    for message in request.messages:
        asked = tool_uses(messages[-1]) if messages else []
        if len(asked) < 2:
            messages.append(message)
            continue
        whole = messages.pop()
        said = [block for block in whole["content"] if "toolUse" not in block]
        for use in asked:
            own = [b for b in message["content"] if b.get("toolResult", {}).get("toolUseId") == use["toolUseId"]]
            messages.append({**whole, "content": [*said, {"toolUse": use}]})
            messages.append({"role": "user", "content": own})
            said = []
        messages[-1]["content"] += [block for block in message["content"] if "toolResult" not in block]
    return replace(request, messages=messages)


def _as_text(request: ModelRequest, *, explained: bool = True) -> ModelRequest:
    """With tool uses and their results told in words; those that the model gave its reasons for only where `explained`."""
    messages: list[Message] = []
    names: dict[str, str] = {}
    for message in request.messages:
        uses = tool_uses(message)
        if explained or not ("beside" in message or has_reasoning(message)):
            names |= {use["toolUseId"]: use["name"] for use in uses}
        told = [{"text": _told(block, names)} if _is_of(block, names) else block for block in message["content"]]
        messages.append({**message, "content": told})
    return replace(request, messages=messages)


def _is_of(block: Block, names: dict[str, str]) -> bool:
    return any(block.get(kind, {}).get("toolUseId") in names for kind in ("toolUse", "toolResult"))


def _told(block: Block, names: dict[str, str]) -> str:
    if "toolUse" in block:
        use = block["toolUse"]
        return f"[The tool {use['name']} was called with {json.dumps(use['input'], ensure_ascii=False)}]"
    result = block["toolResult"]
    texts = [
        part["text"] if "text" in part else json.dumps(part.get("json"), ensure_ascii=False)
        for part in result["content"]
    ]
    outcome = "failed" if result.get("status") == "error" else "gave"
    return f"[The tool {names[result['toolUseId']]} {outcome}:] {' '.join(texts)}"


def _system_first(request: ModelRequest) -> ModelRequest:
    """With the system text before the first question."""
    if not (request.system.strip() and request.messages):
        return request
    first, *rest = request.messages
    return replace(
        request, system="", messages=[{**first, "content": [{"text": request.system}, *first["content"]]}, *rest]
    )


def _with_calls_alone(message: Message) -> Message:
    """Without what was said beside tool uses."""
    return {**message, "content": [b for b in message["content"] if not ("text" in b and tool_uses(message))]}


def _without_extras(message: Message) -> Message:
    """Without what its own server sent beside texts and calls."""
    return {"role": message["role"], "content": message["content"]} if "beside" in message else message


# In the order in which they are made: calls that are told in words need no ids.
_CHANGES: dict[str, Callable[[ModelRequest], ModelRequest]] = {
    "tool_messages": _as_text,
    "unexplained_calls": lambda request: _as_text(request, explained=False),
    "extras": _each(_without_extras),
    "single_calls": _one_by_one,
    "text_beside_calls": _each(_with_calls_alone),
    "ids": _each(_with_short_ids),
    "system": _system_first,
    "stop": lambda request: replace(request, stop_sequences=()),
    "sampling": lambda request: replace(request, sampling=False),
}
