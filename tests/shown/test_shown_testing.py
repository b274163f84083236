"""docs/testing.md: the test that it shows passes, fails where the tool is another, and its tables name what there is."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from local import testing
from local.bedrock.script import _ALLOWED, ScriptedModel
from local.function import LAMBDA

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
TOOL, TEST, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
CONFTEST = """
from pathlib import Path

import pytest

from local.stack import Choices
from local.testing import agent


@pytest.fixture
def agent_choices():
    return Choices(root=Path(__file__).parent / "lambda", settings={"TOOLS": "*"})
"""


def run(folder: Path, tool: str) -> subprocess.CompletedProcess[str]:
    shutil.copytree(LAMBDA, folder / "lambda", ignore=shutil.ignore_patterns("my_agent", "__pycache__"))
    tools = folder / "lambda" / "my_agent" / "tools"
    tools.mkdir(parents=True)
    (tools / "orders.py").write_text(tool)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_orders.py").write_text(TEST)
    options = ["-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
    command = [sys.executable, "-m", "pytest", *options, str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_the_test_is_ten_lines() -> None:
    assert len(TEST.splitlines()) <= 10


@pytest.mark.slow
def test_it_passes_with_the_tool_that_is_shown(tmp_path: Path) -> None:
    done = run(tmp_path, TOOL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.slow
def test_it_fails_with_a_tool_that_has_a_mistake_and_shows_the_line(tmp_path: Path) -> None:
    done = run(tmp_path, TOOL.replace('f"{order_id} is', 'f"{orderid} is'))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "orders.py" in done.stdout
    assert "NameError: name 'orderid' is not defined" in done.stdout


def test_the_tables_name_everything_that_there_is() -> None:
    words = {word for word in vars(testing) if word in ("says", "uses", "together", "fails")}
    assert all(f"| `{word}(" in PAGE for word in words)
    members = [name for name in vars(testing.Agent) if not name.startswith("_")]
    assert all(f"agent.{name}" in PAGE for name in members), members


def test_every_kind_of_entry_is_told_and_can_be_played() -> None:
    scripts = PAGE.partition("## Scripts")[2]
    entries = re.findall(r"`(\{.*?\})`(?= \||,)", scripts)
    ScriptedModel([eval(entry, {"true": True}) for entry in entries])
    told = " ".join(entries) + scripts
    assert all(f'"{kind}"' in told or f"`{kind}`" in told for kind in _ALLOWED)
    assert {kind for kind in _ALLOWED if any(f'{{"{kind}"' in entry for entry in entries)} >= set(_ALLOWED) - {
        "reasoning"
    }
