"""A folder to type in: it has what the commands of docs/agents.md name."""

from pathlib import Path

import pytest

from tests.shown.transcripts import ROOT


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, with links to docs/ and events/; the commands run in it."""
    for name in ("docs", "events"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path
