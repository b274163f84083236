"""Where the documents are: `make new` moves the engine's README to docs/, and gives the sample agent's files to the user."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
_MOVED = ROOT / "docs" / "readme.md"
IS_NEW = _MOVED.exists()
README = (_MOVED if IS_NEW else ROOT / "README.md").read_text(encoding="utf-8")

JAPANESE = (ROOT / ("docs/readme.ja.md" if IS_NEW else "README.ja.md")).read_text(encoding="utf-8")


def missing(paths: set[str]) -> list[str]:
    """Which of these paths aren't there, save for those of the sample agent once `make new` has removed it."""
    sample = ("lambda/my_agent/", "events/", "tests/my_agent/") if IS_NEW else ()
    return [path for path in sorted(paths) if not (ROOT / path).exists() and not path.startswith(sample)]


_OURS = sorted(set((ROOT / "docs").glob("*.md")) - {_MOVED, ROOT / "docs" / "readme.ja.md"})
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in _OURS}
