"""What a Converse request says: the question, what was told, the tool uses of this turn, the offered tools.

The stand-in refuses what isn't of Converse's form, so what is read here is.
"""

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

_READ_CHARACTERS = 4000  # of one text: enough for a question, and bounds the searches in it
_TO_CONCLUDE = re.compile(r"answer now|conclude|no (?:more|further) tool|without (?:\w+ ){0,3}tools?\b", re.IGNORECASE)


@dataclass(frozen=True)
class Tool:
    """An offered tool: `parameters` are JSON schemas by name, in the order of the spec."""

    name: str
    description: str
    parameters: dict[str, dict[str, Any]]
    required: tuple[str, ...]


@dataclass(frozen=True)
class Call:
    """A tool use of this turn with its result; `failed` is the status error, `content` the result's blocks."""

    tool: str
    input: dict[str, Any]
    failed: bool
    content: list[dict[str, Any]]

    @property
    def report(self) -> str:
        """What was returned: texts as they are, JSON as one `key: value` a line, other blocks by their kind in brackets."""
        parts = []
        for block in self.content:
            value = block.get("json", block.get("text"))
            if isinstance(value, dict):
                parts += [f"{key}: {_text(each)}" for key, each in value.items()]
            else:
                parts += [_text(value)] if {"json", "text"} & block.keys() else [f"[{kind}]" for kind in block]
        return "\n".join(parts)


@dataclass(frozen=True)
class Conversation:
    """A request, read. `told` are the user's texts, oldest first, the question last; `use_ids` all ids so far."""

    question: str
    told: list[str]
    calls: list[Call]
    tools: list[Tool]
    use_ids: list[str]
    concluding: bool


def read(request: dict[str, Any]) -> Conversation:
    """Read the body of a Converse request, which stays as it is."""
    messages = [(message["role"], list(message["content"])) for message in request["messages"]]
    concluding = _take_call_to_conclude(messages[-1][1])
    told, begin = [""], 0
    for index, (role, blocks) in enumerate(messages):
        texts = [block["text"] for block in blocks if "text" in block]
        if role == "user" and texts:
            told.append(_plain("\n".join(texts)))
            begin = index
    uses = [[block["toolUse"] for block in blocks if "toolUse" in block] for _, blocks in messages]
    results = [block["toolResult"] for _, blocks in messages for block in blocks if "toolResult" in block]
    by_id = {result["toolUseId"]: result for result in results}
    return Conversation(
        question=told[-1],
        told=told,
        calls=[
            Call(use["name"], use["input"], by_id[use["toolUseId"]].get("status") == "error", result["content"])
            for step in uses[begin:]
            for use in step
            if (result := by_id.get(use["toolUseId"]))
        ],
        tools=[
            _tool(entry["toolSpec"]) for entry in request.get("toolConfig", {}).get("tools", ()) if "toolSpec" in entry
        ],
        use_ids=[use["toolUseId"] for step in uses for use in step],
        concluding=concluding,
    )


def _take_call_to_conclude(blocks: list[dict[str, Any]]) -> bool:
    """Whether a sentence to conclude was put behind the question or into the last result; it is taken out."""
    result = blocks[-1].get("toolResult")
    place = list(result["content"]) if result else blocks
    if len(place) < 2 or not _TO_CONCLUDE.search(place[-1].get("text", "")):
        return False
    place.pop()
    if result:
        blocks[-1] = {"toolResult": {**result, "content": place}}
    return True


def _tool(spec: dict[str, Any]) -> Tool:
    schema = spec["inputSchema"]["json"]
    properties = schema.get("properties", {}).items()
    # a schema may also be true, which allows everything
    parameters = {name: value if isinstance(value, dict) else {} for name, value in properties}
    return Tool(spec["name"], _plain(spec.get("description", "")), parameters, tuple(schema.get("required", ())))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> str:
    """A text in Unicode's compatibility form, full-width signs as ASCII, valid and of bounded length."""
    valid = text[:_READ_CHARACTERS].encode(errors="replace").decode()
    return unicodedata.normalize("NFKC", valid)[:_READ_CHARACTERS]
