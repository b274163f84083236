"""Questions from the terminal: one (`ask`), or as many as you like (`chat`)."""

import contextlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from local.approving import LEAVING, Verdict, settle, waiting
from local.hearing import Hearing
from local.screen import Screen, describe_failure, failed
from local.stack import Asking, Stack

HELP = """\
/session [ID]  show this session's id, or go on with another
/forget        delete this session and start it anew
/help          this list
/quit          leave (so do exit, Ctrl-D and Ctrl-C)"""


@dataclass(frozen=True)
class Asked:
    """How an answer is given: `say` gets the answer alone, or as JSON, and `details` what stands beside it.

    `can_go_on`: the session outlives this command, so that what waits can be decided on by another. With a `hearing` the turn
    is shown there while it runs.
    """

    as_json: bool
    details: Screen
    say: Callable[[str], None]
    can_go_on: bool
    hearing: Hearing | None = None


def ask(function: Asking, question: str, session_id: str | None, asked: Asked) -> int:
    """Ask one question. Returns the exit code."""
    event = {"question": question} | ({"session_id": session_id} if session_id else {})
    return _send(function, event, asked)


def decide(function: Asking, session_id: str, verdicts: Mapping[str, Verdict], asked: Asked) -> int:
    """Approve or deny, by approval id, what a session waits for. Returns the exit code."""
    return _send(function, {"session_id": session_id, "approvals": dict(verdicts)}, asked)


def _send(function: Asking, event: dict[str, Any], asked: Asked) -> int:
    hearing = None if asked.as_json else asked.hearing
    result, succeeded = hearing.ask(function, event) if hearing else function.invoke(event)
    if failed(result, succeeded):
        asked.details.line(describe_failure(result), "bold red")
        return 1
    approvals = result.get("approvals", [])
    for each in approvals:
        asked.details.waits(each)
    if approvals:
        asked.details.line(_how_to_approve(asked.can_go_on, result["session_id"]), "yellow")
    if asked.as_json:
        asked.say(json.dumps(result, ensure_ascii=False, indent=2))
        return 0
    asked.details.tokens(result)
    asked.say(result["answer"])
    return 0


def _how_to_approve(can_go_on: bool, session: str) -> str:
    if not can_go_on:
        return "The session ends here, so this can't be approved. With --keep it could, and `chat` asks at once."
    return f"The same command with --session {session} --approve ID, or --deny ID=WHY, instead of the question decides."


def chat(
    stack: Stack,
    screen: Screen,
    session_id: str | None,
    read_line: Callable[[str], str] = input,
    *,
    may_approve: bool = True,
    hearing: Hearing | None = None,
) -> int:
    """Ask until the user leaves. Returns the exit code. Turns are shown while they run, by `hearing` where the log tells it, too.

    With `may_approve` it is a person who types, who is asked about tool uses that need a yes.
    """
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - editing and history in input()
    session = session_id or f"chat-{secrets.token_hex(4)}"
    screen.line(f"Session {session}. /help lists what else can be typed.")
    answer_of = read_line if may_approve else None
    hearing = hearing or Hearing(screen)
    shown = ""
    try:
        while True:
            if session != shown:  # something may wait since an earlier run
                settle(stack, screen, session, waiting(stack, session), answer_of)
                shown = session
            line = read_line("you> ").strip()
            if line.lower() in LEAVING:
                return 0
            if line.startswith("/"):
                session = _command(stack, screen, line, session)
            elif line:
                _turn(stack, screen, hearing, {"question": line, "session_id": session}, answer_of)
    except (EOFError, KeyboardInterrupt):
        screen.line()
        return 0


def _turn(
    stack: Stack, screen: Screen, hearing: Hearing, event: dict[str, Any], answer_of: Callable[[str], str] | None
) -> None:
    result, succeeded = hearing.ask(stack, event)
    if failed(result, succeeded):
        screen.failure(result)
        return
    screen.stopped(result)
    screen.tokens(result)
    settle(stack, screen, event["session_id"], result.get("approvals", []), answer_of)


def _command(stack: Stack, screen: Screen, line: str, session: str) -> str:
    """The session to go on with."""
    name, _, argument = line.partition(" ")
    if name == "/session":
        session = argument.strip() or session
        screen.line(f"Session {session}")
    elif name == "/forget":
        stack.sessions.forget(session)
        stack.save()
        screen.line(f"Session {session} is forgotten")
    else:
        screen.line(HELP if name == "/help" else f"There is no {name}.\n{HELP}")
    return session
