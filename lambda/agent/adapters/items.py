"""Turns as DynamoDB items and back. Reading trusts nothing; writing keeps an item below DynamoDB's 400 KB.

Messages are one JSON string, which keeps every number exact and knows no depth limit. Bytes (redacted reasoning) are marked as
`{"$bytes": base64}`; a key that looks like the mark gets one more `$`.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from agent.messages import NO_ANSWER, Message, repair, visible_text
from agent.ports import RUNNING, SHORTENED, StoredTurn

LARGEST_ITEM = 350_000  # bytes; the rest of 400 KB is for names, keys and what shortening can't foresee
_KEPT_OF_RESULT = 2_000  # characters that are left of a tool result that had to be shortened
_MARK = re.compile(r"\$+bytes")


def to_item(turn: StoredTurn) -> dict[str, dict[str, str]]:
    """The item of a turn, in DynamoDB's own JSON."""
    turn = _fitting(turn)
    texts = {
        "session_id": turn.key,
        "status": turn.status,
        "request_id": turn.request_id,
        "question": turn.question,
        "created_at": turn.created_at,
        "lease_id": turn.lease_id,
    }
    if turn.messages is not None:
        texts["messages"] = dump_messages(turn.messages)
    if turn.response is not None:
        texts["response"] = _dump(_without_known(turn.response, turn))
        texts["usage"] = _dump(turn.usage)
    numbers = {"turn": turn.turn, "lease_until": turn.lease_until, "expires_at": turn.expires_at}
    return {
        **{name: {"S": text} for name, text in texts.items()},
        **{name: {"N": str(n)} for name, n in numbers.items()},
    }


_WRITTEN_ONCE = ("request_id", "question", "created_at", "lease_id", "expires_at")


def to_update(turn: StoredTurn) -> tuple[dict[str, Any], dict[str, Any]]:
    """The key of a turn that we hold, and what may have changed in it since it was reserved."""
    item = to_item(turn)
    key = {name: item.pop(name) for name in ("session_id", "turn")}
    unchanged: tuple[str, ...] = _WRITTEN_ONCE if item["question"]["S"] == turn.question else ()
    if turn.status != RUNNING:
        unchanged += ("lease_until",)
    return key, {name: value for name, value in item.items() if name not in unchanged}


def from_item(item: dict[str, Any]) -> StoredTurn:
    """The turn of an item, whatever has been done to it: what can't be read is as if it were missing."""
    response = _load(_text(item, "response"))
    usage = _load(_text(item, "usage"))
    messages = load_messages(_text(item, "messages"))
    turn = StoredTurn(
        key=_text(item, "session_id"),
        turn=_number(item, "turn"),
        status=_text(item, "status"),
        request_id=_text(item, "request_id"),
        question=_text(item, "question"),
        messages=messages,
        usage=usage if isinstance(usage, dict) else {},
        created_at=_text(item, "created_at"),
        lease_id=_text(item, "lease_id"),
        lease_until=_number(item, "lease_until"),
        expires_at=_number(item, "expires_at"),
    )
    return replace(turn, response=_with_known(response, turn)) if isinstance(response, dict) else turn


def _without_known(response: dict[str, Any], turn: StoredTurn) -> dict[str, Any]:
    """The response without what the item holds anyway, the answer above all: what is stored twice is sent twice."""
    known = {"usage": turn.usage, "turn": turn.turn}
    if turn.messages:
        known["answer"] = visible_text(turn.messages[-1])
    return {name: value for name, value in response.items() if name not in known or value != known[name]}


def _with_known(response: dict[str, Any], turn: StoredTurn) -> dict[str, Any]:
    found = [] if "answer" in response else repair(turn.messages, set())
    known = {"answer": visible_text(found[-1]) if found else NO_ANSWER, "turn": turn.turn, "usage": turn.usage}
    return {**known, **response}


def dump_messages(messages: list[Message]) -> str:
    """The JSON string of messages. Raises ValueError for what is no JSON."""
    marked = False

    def mark(value: object) -> dict[str, str]:
        nonlocal marked
        if isinstance(value, bytes | bytearray):
            marked = True
            return {"$bytes": base64.b64encode(value).decode()}
        raise ValueError(f"{type(value).__name__} can't be stored")

    text = _dump(messages, mark)
    if 'bytes":' in text and _has_mark(messages):
        return _dump(_escaped(messages), mark)
    return text


def load_messages(text: str) -> list[Message] | None:
    """The messages of a JSON string, or None where it isn't a list."""
    value = _load(text, _unmarked if '$bytes"' in text else None)
    return value if isinstance(value, list) else None


def _has_mark(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_MARK.fullmatch(key) or _has_mark(item) for key, item in value.items())
    return isinstance(value, list) and any(_has_mark(item) for item in value)


def _escaped(value: Any) -> Any:
    if isinstance(value, dict):
        return {"$" + key if _MARK.fullmatch(key) else key: _escaped(item) for key, item in value.items()}
    return [_escaped(item) for item in value] if isinstance(value, list) else value


def _unmarked(value: dict[str, Any]) -> Any:
    if set(value) == {"$bytes"} and isinstance(value["$bytes"], str):
        try:
            return base64.b64decode(value["$bytes"], validate=True)
        except binascii.Error:
            return None
    return {key[1:] if _MARK.fullmatch(key) else key: item for key, item in value.items()}


def _dump(value: Any, default: Any = None) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=default)


def _load(text: str, object_hook: Any = None) -> Any:
    try:
        return json.loads(text, object_hook=object_hook, parse_constant=lambda _: None) if text else None
    except (ValueError, RecursionError):
        return None


def _text(item: dict[str, Any], name: str) -> str:
    value = item.get(name, {}).get("S")
    return value if isinstance(value, str) else ""


def _number(item: dict[str, Any], name: str) -> int:
    try:
        value = Decimal(item.get(name, {}).get("N", 0))
        return int(value) if value == value.to_integral_value() else 0
    except (TypeError, ValueError, ArithmeticError):
        return 0


def _fitting(turn: StoredTurn) -> StoredTurn:
    """The turn as it is where it fits, else with its largest tool results shortened, else with question and answer alone."""
    surplus = _size(turn) - LARGEST_ITEM
    if surplus <= 0:
        return turn
    messages = json.loads(json.dumps(turn.messages, default=_no_bytes)) if turn.messages else []
    for result in sorted(_tool_results(messages), key=_length, reverse=True):
        text = _dump(result["content"])
        short = [{"text": f"{text[:_KEPT_OF_RESULT]}{SHORTENED}{len(text):,} characters.]"}]
        result["content"] = short
        surplus -= _bytes(text) - _bytes(_dump(short))
        if surplus <= 0:
            break
    shorter, share = replace(turn, messages=messages), LARGEST_ITEM // 4
    while _size(shorter) > LARGEST_ITEM:
        shorter, share = _question_and_answer(turn, share), share // 2
    return shorter


def _question_and_answer(turn: StoredTurn, share: int) -> StoredTurn:
    question, response = _shortened(turn.question, share), turn.response
    messages: list[Message] = [{"role": "user", "content": [{"text": question}]}]
    if response is not None:
        answer = _shortened(str(response.get("answer", "")), share)
        response = {**response, "answer": answer, "tool_uses": response.get("tool_uses", [])[:100]}
        messages.append({"role": "assistant", "content": [{"text": answer}]})
    return replace(turn, question=question, response=response, messages=messages if turn.messages else None)


def _shortened(text: str, share: int) -> str:
    kept = text
    while (size := _bytes(_dump(kept))) > share:  # as JSON, where a character may take six bytes
        kept = kept[: len(kept) * share // size]
    return text if kept is text else f"{kept}{SHORTENED}{len(text):,} characters.]"


def _size(turn: StoredTurn) -> int:
    response = _dump(_without_known(turn.response, turn)) if turn.response else ""
    return sum(map(_bytes, (turn.question, dump_messages(turn.messages) if turn.messages else "", response)))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _tool_results(messages: list[Message]) -> Iterator[dict[str, Any]]:
    return (block["toolResult"] for message in messages for block in message["content"] if "toolResult" in block)


def _length(result: dict[str, Any]) -> int:
    return len(_dump(result["content"]))


def _no_bytes(value: object) -> None:
    """Reasoning that came as bytes is not sent again with later turns, so a turn that is too large does without it."""
