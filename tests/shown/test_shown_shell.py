"""The shell agent of docs/agents.md."""

import re
from pathlib import Path

import pytest

from tests.shown.transcripts import play, shown

pytestmark = pytest.mark.slow


def test_the_shell_asks_before_all_but_looking_around(folder: Path) -> None:
    making, chatting = shown("A shell that asks")
    play(making)
    printed = play(chatting)
    # made after a yes, and kept after a no
    assert (folder / "work" / "hello.py").read_text(encoding="utf-8") == "print('Hello')\n"
    asked = re.findall(r'^  waits     run_bash  {"command": "(\w+)', printed, re.MULTILINE)
    assert asked == ["echo", "python3", "rm"]
