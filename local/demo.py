"""The demo: the sample events go through the function one after the other, then the session table is shown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from local.events import read_event
from local.screen import Screen, failed
from local.stack import Stack

EVENTS = Path(__file__).parent.parent / "events"
# Few enough that a name told at the start of the long session is trimmed before it is asked for.
SETTINGS = {"HISTORY_PAIRS": "3"}


def run_demo(stack: Stack, screen: Screen, files: Sequence[Path]) -> int:
    """Run the direct events among the files in order. Returns how many failed."""
    failures = 0
    for path in files:
        event = read_event(path)
        if isinstance(event, dict) and "question" in event:
            failures += not _run_event(stack, screen, path.name, event)
    screen.heading("The session table: turns kept, sizes, expiry")
    screen.sessions(stack.sessions.rows())
    return failures


def _run_event(stack: Stack, screen: Screen, name: str, event: dict[str, Any]) -> bool:
    session = f" (session {event['session_id']})" if "session_id" in event else ""
    screen.heading(name + session)
    screen.labelled("question", str(event["question"]))
    result, succeeded = stack.function.invoke(event)
    if failed(result, succeeded):
        screen.failure(result)
        return False
    screen.answer(result)
    return True
