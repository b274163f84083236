"""A traceback as the writer of a tool wants it: the places in their own files, and what went wrong."""

import re
from itertools import groupby
from pathlib import Path

_FRAME = re.compile(r'  File "(?P<file>.*)", line \d+, in ')
_SYNTAX = re.compile(r'  File "(?P<file>.*)", line \d+$')
_ENGINE = ("agent", "handler.py")
_SHIPPED = ("agent", "tools")


def own_places(text: str, root: Path) -> str:
    """The text of a traceback without the places in the engine of `root` and in libraries.

    It ends at the line of one's own that led there. Where none of the places is, all of them stay, unless the text itself
    tells of a place, as for a syntax error.
    """
    blocks = _blocks(text)
    files = [_file(block) for block in blocks]
    names_a_place = any(_SYNTAX.match(line) for block in blocks for line in block)
    if not names_a_place and not any(_is_own(file, root) for file in files):
        return text
    kept = [block for block, file in zip(blocks, files, strict=True) if not file or _is_own(file, root)]
    lines = [line for block in kept for line in block]
    # a heading over no place at all says nothing
    told = [line for line, after in zip(lines, [*lines[1:], ""], strict=True) if not _heads_nothing(line, after)]
    return "\n".join(told)


def _blocks(text: str) -> list[list[str]]:
    """The lines, those of a frame together: its place, and the code and marks that are indented below it."""
    number, numbers = 0, []
    in_frame = False
    for line in text.splitlines():
        in_frame = bool(_FRAME.match(line)) or (in_frame and line.startswith(("    ", "  [Previous line repeated")))
        number += not in_frame or bool(_FRAME.match(line))
        numbers.append((number, line))
    return [[line for _, line in block] for _, block in groupby(numbers, key=lambda pair: pair[0])]


def _file(block: list[str]) -> str:
    found = _FRAME.match(block[0])
    return found["file"] if found else ""


def _is_own(file: str, root: Path) -> bool:
    if not file or not Path(file).is_relative_to(root):
        return False
    parts = Path(file).relative_to(root).parts
    return parts[0] not in _ENGINE or parts[:2] == _SHIPPED


def _heads_nothing(line: str, after: str) -> bool:
    return line.startswith("Traceback (most recent call last)") and not after.startswith("  ")
