"""What README.md and docs/reference.md show of commands is what they print, tokens and all, in a copy of the tree."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from local.new import STARTER
from tests.documents import IS_NEW, PAGES, README, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.skipif(IS_NEW, reason="the sample agent is gone")]
_SHOWS = re.compile(r"```console\n\$ \.venv/bin/python (-m local [^\n]*)\n(.*?)```", re.DOTALL)
_SHOWN = [shown for text in (README, PAGES["reference"]) for shown in _SHOWS.findall(text)]
_TOOL = re.search(r"Write `(lambda/my_agent/tools/offices\.py)`:\n\n```python\n(.*?)```", README, re.DOTALL)


def copied(root: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", "node_modules")
    for name in ("lambda", "local", "infra", "events"):
        shutil.copytree(ROOT / name, root / name, ignore=ignored)
    shutil.copy(ROOT / "cdk.json", root)
    return root


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree as it is cloned, with the sample agent."""
    return copied(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree as a reader has it behind `make new`, with the tool of the README written."""
    root = copied(tmp_path_factory.mktemp("own"))
    shutil.rmtree(root / "lambda" / "my_agent")
    shutil.copytree(STARTER / "lambda" / "my_agent", root / "lambda" / "my_agent")
    assert _TOOL
    (root / _TOOL[1]).write_text(_TOOL[2], encoding="utf-8")
    return root


def same(text: str) -> str:
    """Without what is another each time: milliseconds and made-up ids."""
    return re.sub(r'\b[0-9a-f]{32}\b|"milliseconds": \d+|\b\d+ ms\b', "…", text).strip()


@pytest.mark.parametrize(("command", "shown"), _SHOWN, ids=[command for command, _ in _SHOWN])
def test_a_command_prints_what_is_shown(clone: Path, own: Path, command: str, shown: str) -> None:
    copy = own if "office" in command else clone
    done = subprocess.run(
        [sys.executable, *shlex.split(command)], cwd=copy, capture_output=True, text=True, timeout=120, check=True
    )
    details = done.stderr if "local ask" in command else ""
    assert same(details + done.stdout) == same(shown)


def test_the_readme_shows_commands() -> None:
    assert len(_SHOWN) >= 4
