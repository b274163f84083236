"""Mistakes in tools of one's own, as the local commands tell them to who made them."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.function import LAMBDA
from local.stack import Choices, local_stack

GOOD = '''
from agent.tooling.tool import tool

ORDERS: dict[str, str] = {}


@tool
def order_status(order_id: str) -> str:
    """Look up the status of an order."""
    return ORDERS[order_id]
'''


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """The one tool module of the user's, in a function of its own."""
    root = tmp_path / "lambda"
    shutil.copytree(LAMBDA, root, ignore=shutil.ignore_patterns("my_agent", "__pycache__"))
    (root / "my_agent" / "tools").mkdir(parents=True)
    (root / "my_agent" / "system_prompt.md").write_text("You help.")
    yield root / "my_agent" / "tools" / "orders.py"
    for name in ("my_agent.tools.orders", "my_agent.tools", "my_agent"):
        sys.modules.pop(name, None)


def asked(file: Path, text: str, times: int = 1) -> list[Any]:
    file.write_text(text)
    with local_stack(Choices(root=file.parents[2], settings={"TOOLS": "*"})) as stack:
        return [stack.invoke({"question": "What is the status of order A-17?"})[0] for _ in range(times)]


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        (
            "import tool\n",
            "import tool\nimport nosuch\n",
            "    import nosuch",
            "ModuleNotFoundError: No module named 'nosuch'",
        ),
        ("ORDERS:", "ORDERZ = ORDRES\nORDERS:", "    ORDERZ = ORDRES", "NameError: name 'ORDRES' is not defined"),
        (
            "def order_status(",
            "def order_status(:",
            "    def order_status(:order_id: str) -> str:",
            "SyntaxError: invalid syntax",
        ),
        ("order_id: str", "order_id: complex", "    @tool", "TypeError: tool order_status: order_id has a type"),
    ],
)
def test_what_keeps_a_module_from_being_loaded_is_a_traceback_that_ends_in_it_and_comes_once(
    file: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, line: str, message: str
) -> None:
    results = asked(file, GOOD.replace(before, after), times=2)
    told = capsys.readouterr().err
    assert told.count("Traceback (most recent call last):") == told.count(message) == 1
    places = [place.split('"')[1] for place in told.splitlines() if place.startswith("  File ")]
    assert places == [str(file)]
    assert line in told.splitlines()
    assert {result["errorType"] for result in results} == {"MisconfiguredError"}


def test_a_bug_in_a_tool_is_a_traceback_with_its_value(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [answer] = asked(file, GOOD)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].startswith(f'  File "{file}", line 10, in order_status')
    assert lines[2] == "    return ORDERS[order_id]"
    assert lines[-1] == "KeyError: 'A-17'"
    assert sum(line.startswith("  File ") for line in lines) == 1
    assert "A-17" not in answer["answer"]


def test_two_tools_of_one_name_are_told_in_a_sentence(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file.parent / "others.py").write_text(GOOD)
    asked(file, GOOD, times=2)
    told = capsys.readouterr().err
    assert told.count("Two tools have the same name, order_status: my_agent/tools/orders.py, line 7") == 1
    assert "Traceback" not in told
