"""Questions from the terminal: one (`ask`), or as many as you like (`chat`)."""

import contextlib
import json
import secrets
from collections.abc import Callable

from local.screen import Screen, describe_failure, failed
from local.stack import Stack

HELP = """\
/session [ID]  show this session's id, or go on with another
/forget        delete this session and start it anew
/help          this list
/quit          leave (so do Ctrl-D and Ctrl-C)"""


def ask(
    stack: Stack, question: str, session_id: str | None, *, as_json: bool, details: Screen, say: Callable[[str], None]
) -> int:
    """Ask one question; `say` gets the answer alone, `details` the tokens. Returns the exit code."""
    event = {"question": question} | ({"session_id": session_id} if session_id else {})
    result, succeeded = stack.function.invoke(event)
    if failed(result, succeeded):
        details.line(describe_failure(result), "bold red")
        return 1
    stack.save()
    if as_json:
        say(json.dumps(result, ensure_ascii=False, indent=2))
        return 0
    details.tokens(result)
    say(result["answer"])
    return 0


def chat(stack: Stack, screen: Screen, session_id: str | None, read_line: Callable[[str], str] = input) -> int:
    """Ask until the user leaves. Returns the exit code."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - editing and history in input()
    session = session_id or f"chat-{secrets.token_hex(4)}"
    screen.line(f"Session {session}. /help lists what else can be typed.")
    try:
        while True:
            line = read_line("you> ").strip()
            if line.startswith("/"):
                session = _command(stack, screen, line, session)
                if not session:
                    return 0
            elif line:
                _turn(stack, screen, line, session)
    except (EOFError, KeyboardInterrupt):
        screen.line()
        return 0


def _turn(stack: Stack, screen: Screen, question: str, session: str) -> None:
    result, succeeded = stack.function.invoke({"question": question, "session_id": session})
    if failed(result, succeeded):
        screen.failure(result)
        return
    screen.answer(result)
    screen.tokens(result)
    stack.save()


def _command(stack: Stack, screen: Screen, line: str, session: str) -> str:
    """The session to go on with; blank to leave."""
    name, _, argument = line.partition(" ")
    if name == "/quit":
        return ""
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
