"""A folder to type in: it has what the commands of docs/agents.md name."""

from pathlib import Path

import pytest

from tests.shown.transcripts import ROOT


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, with a link to docs/; the commands run in it."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    return tmp_path
