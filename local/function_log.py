"""The function's log, heard while it runs: told to who listens, and shown to the developer where something went wrong."""

import json
import logging
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from local.tracebacks import own_places

_RECORD_FIELDS = logging.makeLogRecord({}).__dict__.keys() | {"message", "asctime"}
# What a line about a failure needs not say again: its own place and the answer tell it.
_KNOWN = ("request_id", "gen_ai.operation.name", "gen_ai.tool.call.id", "session_id", "status", "milliseconds")

_PACKAGE = (
    "If {} is a package: name it in an .in beside the module (orders.py: orders.in), then `make lock` and `make setup`."
)


class FunctionLog(logging.Filter):
    """Takes the records of the function's logger, from `attach` to `detach`; its own handlers get none of them.

    `on_record` is told of each. With `raw` each is written to stderr as the function would have written it to stdout; else
    those of warnings and errors are, as lines to read. What is told while the function is loaded is told once, until it is
    loaded again.
    """

    def __init__(self, root: Path, on_record: Callable[[logging.LogRecord], None] | None, raw: bool) -> None:
        super().__init__()
        self._root = root
        self._on_record = on_record
        self._raw = raw
        self._logger: logging.Logger | None = None
        self._told: set[str] = set()
        self._held: list[logging.LogRecord] | None = None

    def attach(self, name: str) -> None:
        """Listen to the logger of that name, before it has handlers too."""
        self.detach()
        self._logger = logging.getLogger(name)
        self._logger.addFilter(self)

    def detach(self) -> None:
        """Leave the logger as it was."""
        if self._logger:
            self._logger.removeFilter(self)

    def begin_loading(self) -> None:
        """The function is loaded (again): what is wrong with it is held back until it is known why."""
        self._told.clear()
        self._held = []

    def end_loading(self, cause: BaseException | None) -> None:
        """The error of a tool's module that kept the function from being built is shown in place of what the log says of it."""
        held, self._held = self._held or [], None
        trace = "".join(traceback.format_exception(cause)) if cause else ""
        if own_places(trace, self._root) != trace:  # where no place is one's own, the sentence of the log says more
            print(self._own(trace), file=sys.stderr)
            if isinstance(cause, ModuleNotFoundError):
                print(_PACKAGE.format(cause.name), file=sys.stderr)
            self._told = {self._text(record) for record in held if _is_failure(record)}
        for record in held:
            self._show(record)
        self._told |= {self._text(record) for record in held}

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the record. Always false: nothing else is to be done with it."""
        if self._raw and self._logger:
            for handler in self._logger.handlers:
                print(handler.format(record), file=sys.stderr)
        elif record.levelno >= logging.WARNING and self._held is not None:
            self._held.append(record)
        elif record.levelno >= logging.WARNING:
            self._show(record)
        if self._on_record:
            self._on_record(record)
        return False

    def _show(self, record: logging.LogRecord) -> None:
        text = self._text(record)
        if text and text not in self._told:
            print(text, file=sys.stderr)

    def _text(self, record: logging.LogRecord) -> str:
        fields = {name: value for name, value in vars(record).items() if name not in _RECORD_FIELDS}
        if _is_failure(record):
            return self._own(str(fields.get("detail", "")))
        if fields.get("trace"):
            return self._own(str(fields["trace"]))
        return "\n".join([record.getMessage(), *_lines(fields)])

    def _own(self, trace: str) -> str:
        return own_places(trace, self._root).rstrip("\n")


def _is_failure(record: logging.LogRecord) -> bool:
    return record.getMessage() == "request failed"


def _lines(fields: Mapping[str, Any]) -> list[str]:
    """A line a field, further lines of a text below its first."""
    told = {name: value for name, value in fields.items() if name not in _KNOWN}
    texts = {name: value if isinstance(value, str) else json.dumps(value, default=str) for name, value in told.items()}
    return [f"  {name}: {text}".replace("\n", "\n    ") for name, text in texts.items()]
