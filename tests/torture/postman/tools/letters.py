"""Tools for the tests of bad luck: some that change something outside, one of which kills its process, and one that hangs."""

import os
import signal
import time
from typing import Annotated

from agent.tooling.tool import tool


def _post(text: str) -> None:
    # one write to a file opened for appending: lines of many processes never mix, and none is written by half
    letters = os.open(os.environ["LETTERS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(letters, f"{text}\n".encode())
    os.close(letters)


@tool(side_effects=True)
def post_letter(text: Annotated[str, "what it says"]) -> str:
    """Post a letter."""
    _post(text)
    return "posted"


@tool(side_effects=True)
def post_and_die(text: Annotated[str, "what it says"]) -> str:
    """Post a letter, and end the process before anyone learns of it."""
    _post(text)
    os.kill(os.getpid(), signal.SIGKILL)
    return "posted"


@tool(needs_approval=True)
def post_with_leave(text: Annotated[str, "what it says"]) -> str:
    """Post a letter that somebody has to agree to."""
    _post(text)
    return "posted"


@tool
def hang(seconds: Annotated[float, "how long"]) -> str:
    """Do nothing for so long."""
    time.sleep(seconds)
    return "awake"
