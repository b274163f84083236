"""A process that has loaded the function as Lambda does at its start, and runs each request in a copy of itself.

A copy (a fork) takes milliseconds where a new interpreter takes a second, so that thousands can be killed. Commands come as
lines of JSON over a socket, each with the pipe for its answers; the pid of the copy goes back.
"""

import importlib
import itertools
import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from local.function import LambdaContext

_real_time = time.time
# a user's folder, in a folder that is on the path of this process
_POSTMAN = Path(__file__).parent / "postman"


class Clock:
    """The wall clock of this process, which may be ahead of the others."""

    ahead = 0.0  # seconds

    def __call__(self) -> float:
        return _real_time() + self.ahead


class Executioner:
    """A trace function that kills the process before the instruction of that number (from 1) of traced code; 0: never."""

    def __init__(self, folders: tuple[str, ...], number: int) -> None:
        self._folders = folders
        self._number = number
        self._count = itertools.count(1)  # next() is atomic: tools and model calls run in threads of their own

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self._folders):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._instruction

    def _instruction(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode" and next(self._count) == self._number:
            os.kill(os.getpid(), signal.SIGKILL)
        return self._instruction

    def begin(self) -> None:
        """Traces this thread and those that will be started."""
        threading.settrace(self)
        sys.settrace(self)

    def end(self) -> int:
        """How many instructions there were."""
        sys.settrace(None)
        threading.settrace(None)
        return next(self._count) - 1


def main() -> None:
    """Serves commands until the other end of the socket, whose number is the only argument, is closed."""
    commands = socket.socket(fileno=int(sys.argv[1]))
    time.time = clock = Clock()
    handler = importlib.import_module("handler")
    function = handler.start(os.environ, _POSTMAN)
    folders = (str(Path(str(handler.__file__)).parent), str(_POSTMAN))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who ended is seen by the end of its pipe
    commands.sendall(b"ready\n")
    while True:
        data, pipes, _, _ = socket.recv_fds(commands, 65_536, 1)
        while data and not data.endswith(b"\n"):
            data += commands.recv(65_536)
        if not data:
            return
        pid = os.fork()
        if pid == 0:
            commands.close()
            command = json.loads(data)
            clock.ahead = command["ahead"]
            _run(function, command, folders, pipes[0])
            if command["tidy"]:
                return
            os._exit(0)
        os.close(pipes[0])
        commands.sendall(b"%d\n" % pid)


def _run(function: Any, command: dict[str, Any], folders: tuple[str, ...], pipe: int) -> None:
    executioner = Executioner(folders, command["kill_at"]) if command["traced"] else None
    for each in command["events"]:
        context = LambdaContext(time.monotonic() + command["seconds"], each["invocation"])
        if executioner:
            executioner.begin()
        answer = _answer(function, each["event"], context)
        if executioner:
            answer["instructions"] = executioner.end()
        os.write(pipe, json.dumps(answer).encode() + b"\n")


def _answer(function: Any, event: Any, context: LambdaContext) -> dict[str, Any]:
    returned, error = function.answer(event, context)
    if error is None:
        return {"returned": returned}
    return {"raised": type(error).__name__, "code": error.code, "retry_after": error.retry_after}


if __name__ == "__main__":
    main()
