"""The parent's side of the worker processes: requests are started, waited for, and killed."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[2]
FUNCTION = ROOT / "lambda"
_PATIENCE = 60.0  # seconds beyond a function's own time, after which it counts as one that never ends


@dataclass(frozen=True)
class Answer:
    """What a caller got: an HTTP status (a raised error has its code alone, and status 0), body, Retry-After in seconds."""

    status: int
    body: dict[str, Any]
    retry_after: int | None = None
    instructions: int = 0

    @property
    def code(self) -> str:
        """The code of a failure; blank for an answer."""
        error = self.body.get("error")
        return str(error["code"]) if isinstance(error, dict) else ""

    @property
    def text(self) -> str:
        """What the model said; blank for a failure."""
        return str(self.body.get("answer", ""))


@dataclass
class Run:
    """A process that answers some events, in order."""

    pid: int
    _pipe: int
    _seconds: float
    began: float = field(default_factory=time.monotonic)
    ended: float = 0.0  # by time.monotonic()
    killed: bool = False

    def answers(self, within: float | None = None) -> list[Answer]:
        """The answers, once the process has ended, whatever ended it. With `within` it is killed after so many seconds."""
        lines = b""
        while True:
            limit = self.began + (self._seconds + _PATIENCE if within is None else within)
            if not self.killed and not select.select([self._pipe], [], [], max(0, limit - time.monotonic()))[0]:
                self.kill()
            chunk = os.read(self._pipe, 65_536)
            if not chunk:
                break
            lines += chunk
        os.close(self._pipe)
        self.ended = time.monotonic()
        return [_answer(json.loads(line)) for line in lines.splitlines()]

    def wake(self) -> None:
        """Has a frozen process go on."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        self.killed = True
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Worker:
    """A worker process with the function of a folder and an environment; a context manager."""

    def __init__(self, environment: Mapping[str, str], log: Path, function: Path = FUNCTION) -> None:
        self._lock = threading.Lock()
        self._commands, theirs = socket.socketpair()
        folders = os.pathsep.join(map(str, (function, ROOT, Path(__file__).parent)))
        path = {"PYTHONPATH": folders, "PATH": os.environ.get("PATH", "")}
        with theirs, log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.torture.worker", str(theirs.fileno())],
                env={**path, **environment},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
            )
        if self._line() != b"ready\n":
            raise RuntimeError(f"the worker did not start: {log.read_text(encoding='utf-8')}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._commands.close()
        self._process.wait()

    def start(
        self,
        events: Sequence[tuple[Any, str]],
        *,
        seconds: float = 30,
        ahead: float = 0,
        kill_at: int = 0,
        traced: bool = False,
        tidy: bool = False,
    ) -> Run:
        """Begins to answer events, each with its invocation id, in a process of their own.

        `seconds` is the function's time for each, `ahead` how far its clock is. It is killed before the instruction of
        number `kill_at`, if that is not 0; `traced` counts the instructions. With `tidy` the interpreter ends as any other
        (waiting for threads that are no daemons), else at once, which is quicker.
        """
        command = {
            "events": [{"event": event, "invocation": invocation} for event, invocation in events],
            "seconds": seconds,
            "ahead": ahead,
            "kill_at": kill_at,
            "traced": traced or bool(kill_at),
            "tidy": tidy,
        }
        ours, theirs = os.pipe()
        with self._lock:
            line = json.dumps(command).encode() + b"\n"
            sent = socket.send_fds(self._commands, [line], [theirs])
            self._commands.sendall(line[sent:])
            os.close(theirs)
            pid = int(self._line())
        return Run(pid, ours, seconds * len(events))

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            received = self._commands.recv(1)
            if not received:
                break
            line += received
        return line


def _answer(line: dict[str, Any]) -> Answer:
    instructions = line.get("instructions", 0)
    if "raised" in line:
        return Answer(0, {"error": {"code": line["code"]}}, line["retry_after"], instructions)
    returned = line["returned"]
    if not isinstance(returned, dict) or "statusCode" not in returned:
        return Answer(200, returned, None, instructions)
    headers = {name.lower(): value for name, value in returned.get("headers", {}).items()}
    after = headers.get("retry-after")
    return Answer(
        returned["statusCode"], json.loads(returned.get("body") or "{}"), int(after) if after else None, instructions
    )
