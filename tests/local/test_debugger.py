"""The debugger at the terminal."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local.debugger import Stopwatch, breakpoints
from local.function import LAMBDA

ROOT = Path(__file__).parents[2]
TOOL = '''
from agent.tooling.tool import tool


@tool(timeout_seconds=1)
def order_status(order_id: str) -> str:
    """Look up the status of an order."""
    found = "lost"
    breakpoint()
    return found
'''
# Somebody who types with a pause that is longer than the tool may take.
CHAT = """
import sys, time
from pathlib import Path
from local.chat import chat
from local.screen import Screen
from local.stack import Choices, local_stack

class Keyboard:
    lines = ['found = "sent"', "p order_id.lower()", "c"]

    def readline(self):
        if len(self.lines) == 3:
            time.sleep(1.5)
        return self.lines.pop(0) + chr(10)

sys.stdin = Keyboard()
questions = iter(["What is the status of order A-17?", "/quit"])
screen = Screen(sys.stdout)
with local_stack(Choices(root=Path(sys.argv[1]), settings={"TOOLS": "*"}), on_record=screen.tool_use) as stack:
    chat(stack, screen, "s", lambda prompt: next(questions))
"""


def test_a_stopped_clock_stands_and_goes_on_from_there() -> None:
    clock = Stopwatch()
    with clock.stopped():
        first = clock()
        with clock.stopped():
            time.sleep(0.01)
        assert clock() == first
    assert first <= clock() < first + 0.01


def test_a_clock_that_was_never_stopped_is_the_monotonic_one() -> None:
    assert abs(Stopwatch()() - time.monotonic()) < 1


def test_another_debugger_is_left_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def other() -> None:
        """Somebody else's."""

    monkeypatch.setattr(sys, "breakpointhook", other)
    with breakpoints():
        assert sys.breakpointhook is other
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    with breakpoints():
        assert sys.breakpointhook is sys.__breakpointhook__
    monkeypatch.delenv("PYTHONBREAKPOINT")
    with breakpoints():
        assert sys.breakpointhook is not sys.__breakpointhook__
    assert sys.breakpointhook is sys.__breakpointhook__


@pytest.mark.slow
def test_a_breakpoint_in_a_tool_asks_at_the_terminal_and_the_tool_is_given_the_time(tmp_path: Path) -> None:
    root = tmp_path / "lambda"
    shutil.copytree(LAMBDA, root, ignore=shutil.ignore_patterns("my_agent", "__pycache__"))
    (root / "my_agent" / "tools").mkdir(parents=True)
    (root / "my_agent" / "tools" / "orders.py").write_text(TOOL)
    run = subprocess.run(
        [sys.executable, "-c", CHAT, str(root)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert "order_status returned:\n            sent" in run.stdout
    assert "'a-17'" in run.stderr
    assert "orders.py(" in run.stderr
