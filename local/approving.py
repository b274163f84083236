"""Tool uses that wait for a person: shown as they would run, and decided at the terminal."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from local.function import importable
from local.screen import Screen, failed
from local.stack import Stack

Verdict = bool | dict[str, Any]
LEAVING = ("/quit", "/exit", "quit", "exit")
"""What ends a conversation, whatever is being asked."""
_QUESTION = "approve? y, or n and why> "
_HINT = "Type y to let it run, n and why not to, or /quit to leave it waiting."


def decision_id(approval: Mapping[str, Any]) -> str:
    """The id by which one of an answer's `approvals` is decided on."""
    return str(approval["approval_id"])


def waiting(stack: Stack, session: str) -> list[dict[str, Any]]:
    """The `approvals` that a session waits for, from an earlier run too."""
    with importable():
        from local import recordings

        return recordings.waiting(stack.sessions.items(session))


def settle(
    stack: Stack,
    screen: Screen,
    session: str,
    approvals: Sequence[Mapping[str, Any]],
    read_line: Callable[[str], str] | None,
) -> None:
    """Ask for each tool use that waits, send what was decided and show the answer, until nothing waits any more.

    Without `read_line` nobody can be asked: what waits is shown, and nothing is approved. Raises EOFError where the person
    leaves instead.
    """
    while approvals:
        verdicts: dict[str, Verdict] = {}
        for each in approvals:
            screen.waits(each)
            if read_line:
                verdicts[decision_id(each)] = _decision(screen, read_line)
        if not read_line:
            screen.line("Nobody can be asked here, so nothing is approved.", "yellow")
            return
        result, succeeded = stack.invoke({"session_id": session, "approvals": verdicts})
        if failed(result, succeeded):
            screen.failure(result)
            return
        screen.answer(result)
        screen.tokens(result)
        approvals = result.get("approvals", [])


def _decision(screen: Screen, read_line: Callable[[str], str]) -> Verdict:
    while True:
        line = read_line(_QUESTION).strip()
        if line.lower() in LEAVING:
            raise EOFError
        said, _, reason = line.partition(" ")
        if said.lower() in ("n", "no"):
            return {"approved": False, "reason": reason.strip()}
        if said.lower() in ("y", "yes") and not reason.strip():
            return True
        screen.line(_HINT, "yellow")
