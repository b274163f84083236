"""Turns as DynamoDB items and back. Reading trusts nothing."""

from decimal import Decimal
from typing import Any

from msgspec.structs import asdict, replace

from agent.adapters.dynamodb.codec import dump, dump_messages, load, load_messages
from agent.adapters.dynamodb.fitting import LARGEST_ITEM, fitting, without_known
from agent.messages import NO_ANSWER, visible_text
from agent.ports import RUNNING, WAITING, Decision, StoredTurn
from agent.turn.repair import repair


def to_item(turn: StoredTurn) -> dict[str, dict[str, str]]:
    """The item of a turn, in DynamoDB's own JSON."""
    texts = _texts(turn)
    if sum(len(text.encode("utf-8", "replace")) for text in texts.values()) > LARGEST_ITEM:
        texts = _texts(fitting(turn))
    numbers = {"turn": turn.turn, "lease_until": turn.lease_until, "expires_at": turn.expires_at}
    return {
        **{name: {"S": text} for name, text in texts.items()},
        **{name: {"N": str(n)} for name, n in numbers.items()},
    }


def _texts(turn: StoredTurn) -> dict[str, str]:
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
        texts["response"] = dump(without_known(turn.response, turn))
        texts["usage"] = dump(turn.usage)
    if turn.waiting:
        texts |= {"waiting": turn.waiting, "waiting_since": turn.waiting_since}
    if turn.random:
        decisions = {name: asdict(decision) for name, decision in turn.decisions.items()}
        texts["approvals"] = dump({"random": turn.random, "decisions": decisions})
    return texts


_WRITTEN_ONCE = ("request_id", "question", "created_at", "lease_id")
_ENDS_KNOWN = {RUNNING: ("expires_at",), WAITING: ()}  # by status, of lease and item; any other leaves both


def to_update(turn: StoredTurn) -> tuple[dict[str, Any], dict[str, Any]]:
    """The key of a turn that we hold, and what may have changed in it since it was reserved."""
    item = to_item(turn)
    key = {name: item.pop(name) for name in ("session_id", "turn")}
    unchanged: tuple[str, ...] = _WRITTEN_ONCE if item["question"]["S"] == turn.question else ()
    unchanged += _ENDS_KNOWN.get(turn.status, ("lease_until", "expires_at"))
    return key, {name: value for name, value in item.items() if name not in unchanged}


def from_item(item: dict[str, Any]) -> StoredTurn:
    """The turn of an item, whatever has been done to it: what can't be read is as if it were missing."""
    response = load(_text(item, "response"))
    usage = load(_text(item, "usage"))
    messages = load_messages(_text(item, "messages"))
    random, decisions = _approvals(load(_text(item, "approvals")))
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
        waiting=_text(item, "waiting"),
        waiting_since=_text(item, "waiting_since"),
        random=random,
        decisions=decisions,
    )
    return replace(turn, response=_with_known(response, turn)) if isinstance(response, dict) else turn


def _approvals(value: object) -> tuple[str, dict[str, Decision]]:
    """The random value and the decisions; neither where an earlier version wrote them, of tool use ids."""
    if not isinstance(value, dict) or not isinstance(value.get("random"), str):
        return "", {}
    found, decisions = value.get("decisions"), {}
    for name, each in found.items() if isinstance(found, dict) else ():
        if isinstance(each, dict):
            texts = {field: str(each.get(field, "")) for field in ("reason", "by", "at")}
            decisions[name] = Decision(approved=each.get("approved") is True, **texts)
    return value["random"], decisions


def _with_known(response: dict[str, Any], turn: StoredTurn) -> dict[str, Any]:
    found = [] if "answer" in response else repair(turn.messages, set())
    known = {"answer": visible_text(found[-1]) if found else NO_ANSWER, "turn": turn.turn, "usage": turn.usage}
    return {**known, **response}


def _text(item: dict[str, Any], name: str) -> str:
    value = item.get(name, {}).get("S")
    return value if isinstance(value, str) else ""


def _number(item: dict[str, Any], name: str) -> int:
    try:
        value = Decimal(item.get(name, {}).get("N", 0))
        return int(value) if value == value.to_integral_value() else 0
    except (TypeError, ValueError, ArithmeticError):
        return 0
