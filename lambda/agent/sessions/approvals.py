"""Tool uses that wait for a person: an id for each very call, what was said of it, and what the model is told of that."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.deadline import Deadline
from agent.listening import Listener
from agent.messages import Message, Usage, tool_uses
from agent.ports import Decision, StoredTurn, ToolCall
from agent.turn.outcome import Outcome
from agent.turn.repair import repair

OVERTAKEN = "Denied: another question came instead of an approval."
EARLIER_VERSION = "This was asked by an earlier version: please ask again."
DIRECT = "direct"  # who waits or decides where no caller is named: whoever may invoke the function itself
DENIED, EXPIRED = "Denied by a person.", "The approval came too late."


class Approval(msgspec.Struct, frozen=True):
    """What a person says of tool uses that wait: approval id -> whether it may run, and why.

    `caller` is whose session it is, `approver` that person: a caller's hash, `anonymous` or `direct`.
    """

    key: str
    session_id: str
    caller: str
    approver: str
    verdicts: Mapping[str, tuple[bool, str]]
    deadline: Deadline
    listener: Listener | None = None

    def decision(self, name: str, now: float, expires_at: str) -> Decision | None:
        """What is decided of a tool use by this; what comes too late is denied, whatever was said of it or whether."""
        if expires_at <= utc(now):
            return Decision(False, EXPIRED, self.approver, utc(now))
        return Decision(*self.verdicts[name], self.approver, utc(now)) if name in self.verdicts else None


def utc(now: float) -> str:
    """Epoch seconds as ISO 8601 in UTC, to the second; such texts sort like their times."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def calls_by_id(messages: Sequence[Message] | None, random: str, step: int) -> dict[str, ToolCall]:
    """The tool uses that the messages of a turn end with, in their order, each by the id that a yes must name.

    The id stands for one very call: for another wait, step, place in it, tool use id, tool or input it is another.
    """
    readable = repair(messages, set(), closed=False, answered=False)
    calls = {}
    for position, use in enumerate(tool_uses(readable[-1]) if readable and random else ()):
        call = ToolCall(use["toolUseId"], use["name"], use["input"])
        text = json.dumps([random, step, position, call.tool_use_id, call.name, call.input], sort_keys=True)
        calls[hashlib.sha256(text.encode()).hexdigest()[:32]] = call
    return calls


def beginning_to_wait(turn: StoredTurn, caller: str, random: str, now: float, seconds: float) -> StoredTurn:
    """A turn as it begins to wait: found by who may decide, held by nobody, and kept as long as the approval is promised."""
    ends = max(turn.expires_at, math.ceil(now + seconds))
    waiting = {"waiting": caller or DIRECT, "waiting_since": utc(now)}
    return replace(turn, random=random, lease_until=0, expires_at=ends, **waiting)


def entries_of(outcome: Outcome, random: str, expires_at: str) -> list[dict[str, Any]]:
    """The `approvals` of the answer of a turn that begins to wait."""
    names = {call.tool_use_id for call in outcome.waiting}
    calls = calls_by_id(outcome.messages, random, outcome.steps).items()
    return [_entry(name, call, expires_at) for name, call in calls if call.tool_use_id in names]


def _entry(name: str, call: ToolCall, expires_at: str) -> dict[str, Any]:
    known = {"approval_id": name, "tool_use_id": call.tool_use_id, "tool": call.name}
    return {**known, "input": call.input, "expires_at": expires_at}


def waiting_entries(turn: StoredTurn) -> list[dict[str, Any]]:
    """The `approvals` of a turn that waits, without those that are decided: what is shown is what would run.

    One whose call is no longer the one that it was asked for, since hands have edited the item, waits no more.
    """
    calls = calls_by_id(turn.messages, turn.random, steps_and_usage(turn.response)[0])
    entries, found = (turn.response or {}).get("approvals"), {}
    for each in entries if isinstance(entries, list) else []:
        match each:
            case {"approval_id": str(name), "expires_at": str(until)} if name in calls and name not in turn.decisions:
                found[name] = _entry(name, calls[name], until)
    return list(found.values())


def decided_calls(turn: StoredTurn, messages: Sequence[Message], step: int) -> dict[str, Decision]:
    """What was decided of the calls that would run now, by their tool use ids."""
    calls = calls_by_id(messages, turn.random, step)
    return {call.tool_use_id: turn.decisions[name] for name, call in calls.items() if name in turn.decisions}


def refusal(decision: Decision) -> str:
    """What the model is told of a decided call that is not run; blank where it is."""
    if decision.approved or decision.reason == EXPIRED:
        return "" if decision.approved else EXPIRED
    return f"{DENIED} {decision.reason}".strip()


def contradicts(approved: bool, decision: Decision) -> bool:
    """Whether this is the other verdict. What came too late was decided by nobody, so that the same yes may come again."""
    return approved != decision.approved and decision.reason != EXPIRED


def steps_and_usage(response: Mapping[str, Any] | None) -> tuple[int, Usage]:
    """What a turn that waited for approval had used until then; zero for others, and where it can't be read."""
    steps, usage = (response or {}).get("steps"), (response or {}).get("usage")
    counts = {name: value for name, value in usage.items() if type(value) is int} if isinstance(usage, dict) else {}
    known = {name: counts.get(name, 0) for name in Usage().as_dict()}
    return steps if type(steps) is int else 0, Usage(**known)
