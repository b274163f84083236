"""The transcripts of docs/agents.md, played again: what is typed there is typed, and must print what stands there."""

import contextlib
import io
import itertools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from local.__main__ import main

ROOT = Path(__file__).parents[2]
AGENTS = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
_LOCAL = "-m local "
_TYPED = re.compile(r"^(?:you>|approve\? y, or n and why>) (.+)$", re.MULTILINE)
# What is another each time. Tokens are estimated from the words of tools and system prompt, which may change.
_CHANGING = {
    r"\b\d+ ms\b": "0 ms",
    r'"milliseconds": \d+': '"milliseconds": 0',
    r"\b\d+ tokens in, \d+ out": "0 tokens in, 0 out",
    r'put_tokens": \d+': 'put_tokens": 0',
    r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ": "2026-01-01T00:00:00Z",
    r"\bchat-[0-9a-f]{8}\b": "chat-00000000",
    r'"session_id": "[0-9a-f]{32}"': '"session_id": ""',
    r"\b[0-9a-f]{32}\b": "0" * 32,
}


@dataclass(frozen=True)
class Shown:
    """A command of the document, and what is shown of its output: `…` stands for what was left out."""

    command: str
    output: str

    def check(self, printed: str) -> None:
        """Raises AssertionError unless this is what was printed, but for times, tokens and made-up ids."""
        first, *others = (part.strip() for part in _same(self.output).split("…"))
        left = _same(printed).strip()
        assert left.startswith(first), f"{self.command}\nshould begin with\n{first}\nbut printed\n{left}"
        left = left[len(first) :]
        for part in others:
            assert part in left, f"{self.command}\nshould go on with\n{part}\nbut printed\n{left}"
            left = left.partition(part)[2] if part else ""
        assert not left.strip(), f"{self.command}\nprinted more than is shown:\n{left}"


def section(heading: str) -> str:
    """The text below a heading of the document."""
    _, found, rest = AGENTS.partition(f"\n## {heading}\n")
    assert found, f"no section is called {heading}"
    return rest.partition("\n## ")[0]


def shown(heading: str) -> list[Shown]:
    """The commands of a section, in order."""
    blocks = re.findall(r"```console\n(.*?)```", section(heading), re.DOTALL)
    commands = "".join(blocks).replace("\\\n", "")
    return [Shown(*part.partition("\n")[::2]) for part in commands.removeprefix("$ ").split("\n$ ")]


def ids(each: Shown, printed: str) -> dict[str, str]:
    """The approval ids that are shown, and those that were printed in their places."""
    found = (re.findall(r"\b[0-9a-f]{32}\b", text) for text in (each.output, printed))
    return dict(zip(*found, strict=True))


def with_ids(each: Shown, ids: Mapping[str, str]) -> Shown:
    """The command as it is typed where these are the ids."""
    command = each.command
    for there, here in ids.items():
        command = command.replace(there, here)
    return Shown(command, each.output)


def play(each: Shown, *, new_process: bool = False) -> str:
    """Runs a command in this folder, types in what is typed there, and checks its output, which is returned.

    One of `python -m local` runs in this process, unless it is to have a new one.
    """
    assignments = itertools.takewhile(re.compile(r"[A-Z_]+=").match, shlex.split(each.command))
    environment = dict(word.split("=", 1) for word in assignments)
    if _LOCAL in each.command and not new_process:
        printed = _played(shlex.split(each.command.partition(_LOCAL)[2]), each, environment)
    else:
        printed = _spawned(each, environment)
    each.check(printed)
    return printed


def _played(arguments: list[str], each: Shown, environment: Mapping[str, str]) -> str:
    terminal = io.StringIO()
    keyboard = _Keyboard(_TYPED.findall(each.output), terminal)
    with (
        importing_from(environment.get("PYTHONPATH")),
        mock.patch.object(sys, "stdin", keyboard),
        contextlib.redirect_stdout(terminal),
        contextlib.redirect_stderr(terminal),
    ):
        main(arguments)
    return terminal.getvalue()


def _spawned(each: Shown, environment: Mapping[str, str]) -> str:
    words = shlex.split(each.command)[len(environment) :]
    if _LOCAL in each.command:
        words[0] = sys.executable
    path = os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), str(ROOT))))
    run = subprocess.run(
        words,
        env={**os.environ, **environment, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    return run.stdout


class _Keyboard:
    """Someone at a terminal, who sees what is typed: as much of a standard input as input() needs."""

    def __init__(self, lines: Iterable[str], terminal: io.StringIO) -> None:
        self._lines = iter(lines)
        self._terminal = terminal

    def isatty(self) -> bool:
        """Yes: so there is somebody to be asked."""
        return True

    def readline(self) -> str:
        """The next line, or the end."""
        line = next((f"{line}\n" for line in self._lines), "")
        self._terminal.write(line)
        return line


@contextlib.contextmanager
def importing_from(folder: str | None) -> Iterator[None]:
    """Within the context, the modules of this folder can be imported; afterwards they are gone."""
    if folder is None:
        yield
        return
    before, place = set(sys.modules), str(Path(folder).resolve())
    sys.path.insert(0, place)
    try:
        yield
    finally:
        sys.path.remove(place)
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(place):
                del sys.modules[name]


def _same(text: str) -> str:
    for pattern, constant in _CHANGING.items():
        text = re.sub(pattern, constant, text)
    return "\n".join(line.rstrip() for line in text.splitlines())
