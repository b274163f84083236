"""The letters that the tools of tests/torture/postman posted."""

from pathlib import Path


def posted(path: Path, tag: str) -> list[str]:
    """The letters of a session, in the order in which they were posted."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line for line in lines if line.split(" ")[0] == tag]
