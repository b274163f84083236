"""A turn at the terminal while it runs: its text as it comes, and its tool uses between."""

import json
import logging
import threading
from collections.abc import Mapping
from typing import Any

from local.screen import Screen
from local.stack import Asking


class EventReader:
    """Server-sent events out of chunks that end anywhere."""

    def __init__(self) -> None:
        self._rest = b""

    def read(self, chunk: bytes) -> list[tuple[str, Any]]:
        """The events that are whole by now: names and data."""
        *blocks, self._rest = (self._rest + chunk).split(b"\n\n")
        found = []
        for block in blocks:
            fields = dict(line.split(": ", 1) for line in block.decode().split("\n") if ": " in line and line[0] != ":")
            if "event" in fields:
                found.append((fields["event"], json.loads(fields["data"])))
        return found


class Hearing:
    """Shows turns on a screen, one after the other. A tool use is shown once both its event and its log record have come."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._lock = threading.Lock()
        self._listens = False
        self._reader, self._step, self._shown = EventReader(), 0, ""
        self._records: dict[str, logging.LogRecord] = {}
        self._answered: set[str] = set()

    def ask(self, function: Asking, event: dict[str, Any]) -> tuple[Any, bool]:
        """The outcome of a direct event, as `invoke` gives it, shown while it comes; an answer is shown whole then."""
        self._begin()
        self._listens = True
        result, succeeded = function.invoke({**event, "stream": True}, self.chunk)
        self._listens = False
        if isinstance(result, str):  # the whole event stream
            name, result = EventReader().read(result.encode())[-1]
            succeeded = name == "answer"
        with self._lock:
            self._answered |= self._records.keys()  # of a function that streams nothing
            self._tool_uses()
            if succeeded and "error" not in result:
                self._end(str(result["answer"]))
            self._screen.end_text()
        return result, succeeded

    def chunk(self, chunk: bytes) -> None:
        """Shows what came."""
        with self._lock:
            for name, data in self._reader.read(chunk):
                if name == "text":
                    self._text(data)
                elif name == "void" and self._shown:
                    self._screen.end_text()
                    self._screen.labelled("", "(That does not count.)", "dim")
                    self._shown = ""
                elif name == "tool_result":
                    self._answered.add(data["tool_use_id"])
                    self._tool_uses()

    def record(self, record: logging.LogRecord) -> None:
        """A record of the function's log."""
        if record.getMessage() == "tool use":
            with self._lock:
                if not self._listens:
                    self._screen.tool_use(record)
                    return
                self._records[vars(record)["gen_ai.tool.call.id"]] = record
                self._tool_uses()

    def _begin(self) -> None:
        self._reader, self._step, self._shown = EventReader(), 0, ""
        self._records.clear()
        self._answered.clear()

    def _end(self, answer: str) -> None:
        """Shows what of the answer wasn't shown yet."""
        is_begun = bool(self._shown) and answer.startswith(self._shown)
        rest = answer.removeprefix(self._shown) if is_begun else answer
        self._text({"step": self._step if is_begun else -1, "text": rest})

    def _text(self, data: Mapping[str, Any]) -> None:
        if data["step"] != self._step:
            self._screen.end_text()
            self._step, self._shown = data["step"], ""
        if data["text"]:
            self._screen.text(data["text"], is_first=not self._shown)
            self._shown += data["text"]

    def _tool_uses(self) -> None:
        for name in [name for name in self._records if name in self._answered]:
            self._screen.end_text()
            self._screen.tool_use(self._records.pop(name))
            self._answered.discard(name)
