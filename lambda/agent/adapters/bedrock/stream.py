"""A streamed Converse answer, gathered into the one that wasn't, while a listener hears its text.

Order and shapes of the events: ConverseStream in the Bedrock API reference. A text block has no start, its first delta is one.
"""

import base64
import json
from collections.abc import Iterable
from typing import Any

from agent.aws.errors import UnreadableError
from agent.ports import TextListener


def gather(events: Iterable[tuple[str, bytes]], listener: TextListener) -> dict[str, Any]:
    """The body of a Converse answer. Raises UnreadableError where the stream broke off or holds what can't be read."""
    blocks: dict[object, list[dict[str, Any]]] = {}  # by index, what each was sent in
    answer: dict[str, Any] = {}
    texts: set[object] = set()
    for name, payload in events:
        data = _read(payload)
        index, delta = data.get("contentBlockIndex"), data.get("delta") or data.get("start")
        if name in ("contentBlockStart", "contentBlockDelta") and isinstance(delta, dict):
            blocks.setdefault(index, []).append(delta)
            if isinstance(delta.get("text"), str):
                # two blocks of text are shown with a line's end between them
                listener.text("\n" + delta["text"] if texts and index not in texts else delta["text"])
                texts.add(index)
        elif name in ("messageStop", "metadata"):
            answer |= data
    if "stopReason" not in answer:
        raise UnreadableError("the stream broke off")
    content = [_block(parts) for parts in blocks.values()]
    return {**answer, "output": {"message": {"role": "assistant", "content": content}}}


def _block(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """A content block of its parts; of a kind that is none of ours, as its first part has it."""
    texts, uses, thoughts = (
        _of(parts, *each) for each in (("text", str), ("toolUse", dict), ("reasoningContent", dict))
    )
    whole = {kind: value for part in reversed(parts) for kind, value in part.items()}
    if texts:
        whole["text"] = "".join(texts)
    if uses:
        use = {name: value for each in reversed(uses) for name, value in each.items()}
        whole["toolUse"] = use | {"input": _input("".join(_of(uses, "input", str)))}
    if redacted := [base64.b64decode(each) for each in _of(thoughts, "redactedContent", str)]:
        whole["reasoningContent"] = {"redactedContent": base64.b64encode(b"".join(redacted)).decode()}
    elif thoughts:
        said = {name: "".join(_of(thoughts, name, str)) for name in ("text", "signature") if _of(thoughts, name, str)}
        whole["reasoningContent"] = {"reasoningText": said}
    return whole


def _of(parts: list[dict[str, Any]], name: str, kind: type) -> list[Any]:
    return [part[name] for part in parts if isinstance(part.get(name), kind)]


def _input(text: str) -> object:
    """A tool's input; what is no JSON stays as it is, for the loop to tell the model of."""
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text


def _read(payload: bytes) -> dict[str, Any]:
    try:
        data = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise UnreadableError("the stream holds something that is no JSON") from error
    if not isinstance(data, dict):
        raise UnreadableError("the stream holds something that is no event")
    return data
