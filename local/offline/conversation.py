"""What a Converse request says: the question, what was told, the tool uses of this turn, the offered tools.

A request is read leniently: what has another shape than Converse's is passed over, never an error.
"""

import re
import unicodedata
from dataclasses import dataclass, replace
from typing import Any

_READ_CHARACTERS = 4000  # of one text: enough for a question, and bounds the searches in it
_TO_CONCLUDE = re.compile(
    r"answer now|conclude|no (?:more|further) tool|(?:without|not|n't) (?:\w+ ){0,3}tools?\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Tool:
    """An offered tool: `parameters` are JSON schemas by name, in the order of the spec, each with a `description`."""

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
    content: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Conversation:
    """A request, read. `told` are the user's texts, oldest first, the question last; `use_ids` all ids so far."""

    question: str
    told: tuple[str, ...]
    calls: tuple[Call, ...]
    tools: tuple[Tool, ...]
    use_ids: tuple[str, ...]
    concluding: bool


def read(request: dict[str, Any]) -> Conversation:
    """Read the body of a Converse request."""
    messages = _dicts(request.get("messages"))
    told: list[str] = []
    begin = 0
    for index, message in enumerate(messages):
        texts = [block["text"] for block in _blocks(message) if isinstance(block.get("text"), str)]
        if message.get("role") != "user" or not texts:
            continue
        if _has_added_sentence(message):
            texts.pop()
        if texts:
            told.append(_plain("\n".join(texts)))
            begin = index
    every_block = [block for message in messages for block in _blocks(message)]
    ids = [_dict(block.get("toolUse")).get("toolUseId") for block in every_block]
    concluding = bool(messages) and _asks_to_conclude(messages[-1])
    calls = _calls(messages[begin + 1 :])
    if concluding and calls and len(calls[-1].content) > 1 and _is_call_to_conclude(calls[-1].content[-1].get("text")):
        calls = (*calls[:-1], replace(calls[-1], content=calls[-1].content[:-1]))
    return Conversation(
        question=told[-1] if told else "",
        told=tuple(told),
        calls=calls,
        tools=tuple(_tool(entry) for entry in _dicts(_dict(request.get("toolConfig")).get("tools")) if _is_tool(entry)),
        use_ids=tuple(use_id for use_id in ids if isinstance(use_id, str)),
        concluding=concluding,
    )


def _is_call_to_conclude(text: object) -> bool:
    """Whether a text asks to answer without further tool use."""
    return isinstance(text, str) and _TO_CONCLUDE.search(text[-_READ_CHARACTERS:]) is not None


def _asks_to_conclude(message: dict[str, Any]) -> bool:
    """Whether a sentence to conclude was put behind the results, into the last of them, or behind the question."""
    if _has_added_sentence(message):
        return True
    last_result = _dict((_blocks(message) or [{}])[-1].get("toolResult"))
    content = _dicts(last_result.get("content"))
    return len(content) > 1 and _is_call_to_conclude(content[-1].get("text"))


def _has_added_sentence(message: dict[str, Any]) -> bool:
    blocks = _blocks(message)
    return len(blocks) > 1 and _is_call_to_conclude(blocks[-1].get("text"))


def _calls(messages: list[dict[str, Any]]) -> tuple[Call, ...]:
    blocks = [block for message in messages for block in _blocks(message)]
    results = {
        result["toolUseId"]: result
        for result in (_dict(block.get("toolResult")) for block in blocks)
        if isinstance(result.get("toolUseId"), str)
    }
    calls = []
    for use in (_dict(block.get("toolUse")) for block in blocks):
        use_id, name = use.get("toolUseId"), use.get("name")
        if isinstance(use_id, str) and isinstance(name, str) and use_id in results:
            result = results[use_id]
            content = tuple(_dicts(result.get("content")))
            calls.append(Call(name, _dict(use.get("input")), result.get("status") == "error", content))
    return tuple(calls)


def _is_tool(entry: dict[str, Any]) -> bool:
    return isinstance(_dict(entry.get("toolSpec")).get("name"), str)


def _tool(entry: dict[str, Any]) -> Tool:
    spec = _dict(entry["toolSpec"])
    schema = _dict(_dict(spec.get("inputSchema")).get("json"))
    required = schema.get("required")
    return Tool(
        name=spec["name"],
        description=_plain(spec.get("description")),
        parameters={str(name): _parameter(value) for name, value in _dict(schema.get("properties")).items()},
        required=tuple(dict.fromkeys(name for name in required if isinstance(name, str)))
        if isinstance(required, list)
        else (),
    )


def _parameter(schema: object) -> dict[str, Any]:
    known = _dict(schema)  # a schema may also be true, which allows everything
    return {**known, "description": _plain(known.get("description"))}


def _plain(text: object) -> str:
    """A text in Unicode's compatibility form, full-width signs as ASCII, valid and of bounded length."""
    if not isinstance(text, str):
        return ""
    valid = text[:_READ_CHARACTERS].encode(errors="replace").decode()
    return unicodedata.normalize("NFKC", valid)[:_READ_CHARACTERS]


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    return _dicts(message.get("content"))


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
