"""What a caller gets of a turn: the direct answer, and its line in the listing of a session."""

from collections.abc import Mapping
from typing import Any

from agent.messages import Usage
from agent.ports import StoredTurn
from agent.turn.outcome import Outcome


def direct_answer(session_id: str, held: StoredTurn, outcome: Outcome, expires_at: str) -> dict[str, Any]:
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
    if outcome.waiting:
        answer["approvals"] = [
            {"tool_use_id": call.tool_use_id, "tool": call.name, "input": call.input, "expires_at": expires_at}
            for call in outcome.waiting
        ]
    return answer


def _tool_uses(response: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    uses = (response or {}).get("tool_uses")
    readable = [use for use in uses if isinstance(use, dict)] if isinstance(uses, list) else []
    return [use for use in readable if {"name", "status", "milliseconds"} <= use.keys()]


def steps_and_usage(response: Mapping[str, Any] | None) -> tuple[int, Usage]:
    """What a turn that waited for approval had used until then; zero for others, and where it can't be read."""
    steps, usage = (response or {}).get("steps"), (response or {}).get("usage")
    counts = {name: value for name, value in usage.items() if type(value) is int} if isinstance(usage, dict) else {}
    known = {name: counts.get(name, 0) for name in Usage().as_dict()}
    return steps if type(steps) is int else 0, Usage(**known)


def listing(turn: StoredTurn) -> dict[str, Any]:
    """A turn in the answer of GET /sessions/{session_id}."""
    response = turn.response or {}
    return {
        "turn": turn.turn,
        "question": turn.question,
        "answer": response.get("answer", ""),
        "created_at": turn.created_at,
        "stop_reason": response.get("stop_reason", ""),
        "tool_uses": response.get("tool_uses", []),
        "usage": {name: turn.usage.get(name, 0) for name in Usage().as_dict()},
    }
