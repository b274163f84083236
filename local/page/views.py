"""Stored turns as the page shows them: each with its steps, and what its tools were asked and gave.

Imports the core, which is no package: `local.function.importable` makes it one that can be imported.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any

from agent.messages import Block, Message
from agent.ports import StoredTurn
from agent.turn.repair import repair

DIRECT = "direct"
"""The caller of sessions whose key is their id alone."""


def key_of(session_id: str, caller: str) -> str:
    """The partition key of a caller's session."""
    return session_id if caller == DIRECT else f"{caller}#{session_id}"


def session_of(key: str) -> tuple[str, str]:
    """The session id and the caller of a partition key."""
    caller, separator, session_id = key.rpartition("#")
    return session_id, caller if separator else DIRECT


def sessions_view(turns: Iterable[StoredTurn]) -> list[dict[str, Any]]:
    """A line a session, the latest first: its id, caller, number of turns, and the newest turn's time, status, question."""
    found: dict[str, dict[str, Any]] = {}
    for turn in sorted(turns, key=lambda each: each.turn):
        if turn.key.startswith("#"):  # counted tokens, which are no session
            continue
        session_id, caller = session_of(turn.key)
        line = found.setdefault(turn.key, {"session_id": session_id, "caller": caller, "turns": 0})
        line.update(turns=line["turns"] + 1, last=turn.created_at, status=turn.status, question=turn.question[:200])
    return sorted(found.values(), key=lambda line: str(line["last"]), reverse=True)


def turn_view(turn: StoredTurn) -> dict[str, Any]:
    """One turn: what the page shows of its answer, `status`, and `steps_taken`, each with `title`, `said` and `uses`."""
    response = turn.response or {}
    times = deque(each for each in response.get("tool_uses") or [] if isinstance(each, dict))
    return {
        "turn": turn.turn,
        "status": turn.status,
        "question": turn.question,
        "answer": response.get("answer", ""),
        "created_at": turn.created_at,
        "model_id": response.get("model_id", ""),
        "stop_reason": response.get("stop_reason") or turn.status,
        "steps": response.get("steps"),
        "usage": turn.usage,
        "steps_taken": _steps(repair(turn.messages, set(), closed=False, answered=False, reasoning=True), times),
    }


def _steps(messages: Iterable[Message], times: deque[dict[str, Any]]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    waiting: dict[str, dict[str, Any]] = {}
    for message in messages:
        if message["role"] == "assistant":
            uses = [_use(block["toolUse"]) for block in message["content"] if "toolUse" in block]
            waiting |= {use["id"]: use for use in uses}
            said = "\n".join(filter(None, map(_said, message["content"])))
            title = ", ".join(dict.fromkeys(use["tool"] for use in uses)) or "answer"
            steps.append({"title": title, "said": said, "uses": uses})
            continue
        for block in message["content"]:
            use = waiting.pop(block.get("toolResult", {}).get("toolUseId", ""), None)
            if use is not None:
                use |= _result(block["toolResult"])
                if times and times[0].get("name") == use["tool"]:
                    use["milliseconds"] = times.popleft().get("milliseconds")
    return steps


def _use(use: Block) -> dict[str, Any]:
    return {"id": use["toolUseId"], "tool": use["name"], "input": use["input"], "status": "waits"}


def _result(result: Block) -> dict[str, Any]:
    parts = [block["text"] if "text" in block else block.get("json") for block in result["content"]]
    return {"status": result.get("status", "success"), "result": parts[0] if len(parts) == 1 else parts}


def _said(block: Block) -> str:
    thought = block.get("reasoningContent", {}).get("reasoningText", {}).get("text", "")
    return f"({thought})" if thought else str(block.get("text", ""))
