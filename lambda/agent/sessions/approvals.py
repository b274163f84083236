"""Tool uses that wait for a person: what was asked, what a person said of it, and what becomes of it when nobody does."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.deadline import Deadline
from agent.errors import InvalidRequestError
from agent.messages import tool_uses
from agent.ports import DONE, Decision, Listener, StoredTurn
from agent.turn.repair import repair

_OVERTAKEN = "Denied: another question came instead of an approval."
_EXPIRED = "The approval came too late."


class Approval(msgspec.Struct, frozen=True):
    """What a person says of the tool uses that wait: id -> whether it may run, and why. `approver` is that person."""

    key: str
    session_id: str
    caller: str
    approver: str
    verdicts: Mapping[str, tuple[bool, str]]
    deadline: Deadline
    listener: Listener | None = None


def utc(now: float) -> str:
    """Epoch seconds as ISO 8601 in UTC, to the second; such texts sort like their times."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def waiting_entries(turn: StoredTurn) -> list[dict[str, Any]]:
    """The `approvals` of the turn's answer, as far as they can be read."""
    entries = (turn.response or {}).get("approvals")
    readable = [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []
    return [each for each in readable if isinstance(each.get("tool_use_id"), str)]


def decisions_of(found: StoredTurn, approval: Approval, now: float) -> dict[str, Decision]:
    """What is decided by this approval, all of it checked; what comes too late counts as a no.

    Raises InvalidRequestError for a tool use that doesn't wait.
    """
    waiting = {entry["tool_use_id"]: entry for entry in waiting_entries(found)}
    decisions = {}
    for name, (approved, reason) in approval.verdicts.items():
        if name not in waiting:
            raise InvalidRequestError(f"{name} does not wait for approval; these do: {', '.join(waiting)}.")
        decisions[name] = Decision(approved, reason, approval.approver, utc(now))
    late = [name for name, entry in waiting.items() if str(entry.get("expires_at")) <= utc(now)]
    return {**decisions, **{name: Decision(False, _EXPIRED, approval.approver, utc(now)) for name in late}}


def overtaken(turn: StoredTurn, caller: str, now: float) -> StoredTurn:
    """A waiting turn as it is closed by another question of the caller: all that waited is denied."""
    answer = {name: value for name, value in (turn.response or {}).items() if name != "approvals"}
    said = f"{answer.get('answer', '')} It was not given: another question came.".strip()
    messages = repair(turn.messages, set(), answered=False)
    # those that were approved already, too: none of the step was run
    ids = [use["toolUseId"] for use in tool_uses(messages[-1])] if messages else []
    denied = {name: Decision(False, _OVERTAKEN, caller, utc(now)) for name in ids}
    return replace(
        turn,
        status=DONE,
        messages=repair(messages, set(), unanswered=_OVERTAKEN),
        response={**answer, "answer": said, "stop_reason": "end_turn"},
        decisions={**turn.decisions, **denied},
    )
