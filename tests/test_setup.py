"""`make setup` installs what the tools of one's own need, and sees when that has changed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# In place of .venv/bin/python: it writes down which locks it is told to install.
PYTHON = """#!/bin/sh
case "$*" in *install*) for last; do :; done; echo "$last" >> installed;; esac
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    (tmp_path / "lambda" / "my_agent" / "tools").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON)
    python.chmod(0o755)
    return tmp_path


def setup(clone: Path, target: str = "setup") -> list[str]:
    """The locks that are installed for a target, in order."""
    (clone / "installed").write_text("")
    environment = {"PATH": os.environ["PATH"]}
    subprocess.run(["make", target], cwd=clone, env=environment, capture_output=True, check=True, timeout=60)
    return (clone / "installed").read_text().split()


def lock_in(clone: Path, name: str, text: str = "idna==3.10") -> str:
    place = f"lambda/my_agent/tools/{name}.lock"
    (clone / place).write_text(text)
    return place


def test_without_tools_of_ones_own_only_the_projects_lock_is_installed_and_once(clone: Path) -> None:
    assert setup(clone) == ["requirements/dev.lock"]
    assert setup(clone) == []


def test_each_lock_of_ones_own_is_installed_and_again_when_it_changes(clone: Path) -> None:
    setup(clone)
    orders, refunds = lock_in(clone, "orders"), lock_in(clone, "refunds")
    assert setup(clone) == ["requirements/dev.lock", orders, refunds]
    assert setup(clone) == []
    lock_in(clone, "orders", "idna==3.11")
    assert setup(clone) == ["requirements/dev.lock", orders, refunds]
    assert len(list((clone / ".venv").glob("*.stamp"))) == 1


def test_the_local_commands_alone_install_them_too(clone: Path) -> None:
    orders = lock_in(clone, "orders")
    assert setup(clone, "chat") == ["requirements/local.lock", orders]
