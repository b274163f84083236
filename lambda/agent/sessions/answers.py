"""What a caller gets of a turn: the direct answer, and its line in the listing of a session."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent.messages import Usage, tool_uses
from agent.ports import WAITING, StoredTurn
from agent.sessions.approvals import EARLIER_VERSION, waiting_entries
from agent.sessions.states import CLOSED
from agent.turn.outcome import Outcome
from agent.turn.repair import repair

LISTED_BYTES = 2_500_000  # of a listing; Lambda answers at most 6 MB, and writes each quote of a body with a backslash


def direct_answer(
    session_id: str, held: StoredTurn, outcome: Outcome, waiting: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The direct answer of README.md. `held.response` is what a turn that waited for approval had answered until then."""
    answer: dict[str, Any] = {
        "answer": outcome.answer,
        "session_id": session_id,
        "turn": held.turn,
        "stop_reason": outcome.stop_reason,
        "steps": outcome.steps,
        "model_id": outcome.model_id,
        "usage": outcome.usage.as_dict(),
        "tool_uses": [
            *_tool_uses(held.response),
            *({"name": r.name, "status": r.status, "milliseconds": r.milliseconds} for r in outcome.tool_records),
        ],
    }
    return answer | ({"approvals": list(waiting)} if waiting else {})


def present_answer(turn: StoredTurn) -> dict[str, Any] | None:
    """The direct answer of a turn as it stands now: of one that waits with what is left to decide, of a closed one its end."""
    if turn.response and turn.status == WAITING:
        return {**turn.response, "approvals": waiting_entries(turn)}
    return _closed(turn) if turn.response and turn.status == CLOSED else turn.response


def _closed(turn: StoredTurn) -> dict[str, Any]:
    answer = {name: value for name, value in (turn.response or {}).items() if name != "approvals"}
    end = "It was not given: another question came." if turn.random else EARLIER_VERSION
    last = repair(turn.messages, set(), closed=False, answered=False)[-1:]
    # those that were approved already, too: none of the step was run
    denied = [{"name": use["name"], "status": "error", "milliseconds": 0} for m in last for use in tool_uses(m)]
    said = f"{answer.get('answer', '')} {end}".strip()
    return {**answer, "answer": said, "stop_reason": "end_turn", "tool_uses": [*_tool_uses(answer), *denied]}


def _tool_uses(response: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    uses = (response or {}).get("tool_uses")
    readable = [use for use in uses if isinstance(use, dict)] if isinstance(uses, list) else []
    return [use for use in readable if {"name", "status", "milliseconds"} <= use.keys()]


def listings(turns: Sequence[StoredTurn]) -> list[dict[str, Any]]:
    """The turns of the answer of GET /sessions/{session_id}, oldest first: of these, newest first, as many as it can hold."""
    listed, size = [], 0
    for turn in turns:
        listed.append(_listing(turn))
        size += len(json.dumps(listed[-1], ensure_ascii=False).encode())
        if size > LISTED_BYTES:
            listed.pop()
            break
    return listed[::-1]


def _listing(turn: StoredTurn) -> dict[str, Any]:
    response = present_answer(turn) or {}
    shown = {
        "turn": turn.turn,
        "question": turn.question,
        "answer": response.get("answer", ""),
        "created_at": turn.created_at,
        "stop_reason": response.get("stop_reason", ""),
        "tool_uses": response.get("tool_uses", []),
        "usage": {name: turn.usage.get(name, 0) for name in Usage().as_dict()},
    }
    return shown | ({"approvals": response["approvals"]} if turn.status == WAITING and response else {})
