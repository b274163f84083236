"""What the commands print: colours in a terminal, plain text elsewhere."""

import json
import logging
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from local.session_table import Row
from local.terminal import VisibleStream, exact_json, visible

_LABEL_WIDTH = 10


class Screen:
    """Prints to a text stream. Texts are what users and tools said: never read as markup, and made visible here."""

    def __init__(self, file: TextIO) -> None:
        # Only the colours are to act on a terminal, so they go around the stream that makes all else visible.
        raw = file.raw if isinstance(file, VisibleStream) else file
        self._is_within_text = False
        self._console = Console(file=raw, highlight=False, emoji=False, soft_wrap=True)

    def line(self, text: str = "", style: str = "") -> None:
        """A line as it is."""
        self._console.print(Text(visible(text), style=style))

    def heading(self, text: str) -> None:
        """The start of something."""
        self.line()
        self.line(text, "bold")

    def labelled(self, label: str, text: str, style: str = "") -> None:
        """A label and a text; further lines of the text stand under its first one."""
        indented = visible(text).replace("\n", "\n" + " " * (_LABEL_WIDTH + 2))
        self._console.print(Text.assemble("  ", (visible(label).ljust(_LABEL_WIDTH), "dim"), (indented, style)))

    def tool_use(self, record: logging.LogRecord) -> None:
        """A tool use, where the function's log record tells of one; what went in is known with LOG_CONTENT alone."""
        if record.getMessage() == "tool use":
            fields = vars(record)
            given = f"  {exact_json(fields['input'])}" if "input" in fields else ""
            text = f"{fields['gen_ai.tool.name']}  {fields['status']}  {fields['milliseconds']} ms{given}"
            self.labelled("tool", text, "green" if fields["status"] == "success" else "red")

    def text(self, text: str, *, is_first: bool) -> None:
        """A piece of a text that comes in pieces; the first of them has a label."""
        indented = visible(text).replace("\n", "\n" + " " * (_LABEL_WIDTH + 2))
        label = Text.assemble("  ", ("answer".ljust(_LABEL_WIDTH), "dim")) if is_first else Text()
        self._console.print(Text.assemble(label, (indented, "cyan")), end="")
        self._console.file.flush()
        self._is_within_text = True

    def end_text(self) -> None:
        """Ends such a text."""
        if self._is_within_text:
            self._console.print()
        self._is_within_text = False

    def stopped(self, answer: Mapping[str, Any]) -> None:
        """Why an answer stopped, where that isn't its own end."""
        if answer.get("stop_reason") != "end_turn":
            self.labelled("stopped", str(answer.get("stop_reason")), "yellow")

    def answer(self, answer: Mapping[str, Any]) -> None:
        """The text of an answer, and why it stopped where that isn't its own end."""
        self.labelled("answer", str(answer.get("answer")), "cyan")
        self.stopped(answer)

    def waits(self, approval: Mapping[str, Any]) -> None:
        """A tool use that waits for a person's yes: just what would run, and nothing of it hidden."""
        self.labelled("waits", f"{approval['tool']}  {exact_json(approval['input'])}", "yellow")
        self.labelled("", f"{approval['approval_id']}, until {approval['expires_at']}", "dim")

    def tokens(self, answer: Mapping[str, Any]) -> None:
        """Steps and tokens of an answer, in a line."""
        usage = answer.get("usage") or {}
        cached = usage.get("cache_read_input_tokens", 0)
        tokens = f"{usage.get('input_tokens')} tokens in, {usage.get('output_tokens')} out"
        cache = f", {cached} from the cache" if cached else ""
        self.labelled("", f"{tokens}{cache}; steps: {answer.get('steps')}; turn {answer.get('turn')}", "dim")

    def failure(self, result: Any) -> None:
        """What the function answered or raised instead of an answer."""
        self.labelled("failed", describe_failure(result), "bold red")

    def sessions(self, rows: Iterable[Row]) -> None:
        """The session table as a table."""
        table = Table(box=box.SIMPLE, pad_edge=False)
        for name in ("session", "turn", "status", "question", "bytes", "expires"):
            table.add_column(name, justify="right" if name in ("turn", "bytes") else "left", no_wrap=True)
        for row in rows:
            expires = datetime.fromtimestamp(row.expires_at, UTC).date().isoformat()
            cells = (
                _cut(row.session_id, 19),
                str(row.turn),
                _cut(row.status, 17),
                _cut(row.question, 16),
                str(row.size),
                expires,
            )
            table.add_row(*cells)
        self._console.print(table, soft_wrap=False)


def _cut(text: str, columns: int) -> Text:
    """In one line, and short enough that a row fits a terminal of 80 columns."""
    cut = Text(visible(" ".join(text.split())))
    cut.truncate(columns, overflow="ellipsis")
    return cut


def failed(result: Any, succeeded: bool) -> bool:
    """Whether the function's outcome is a failure: raised, an error object, or an HTTP status of 400 and above."""
    if not succeeded:
        return True
    return isinstance(result, Mapping) and ("error" in result or int(result.get("statusCode", 200)) >= 400)


def describe_failure(result: Any) -> str:
    """A failure in a line, whichever form it has."""
    if isinstance(result, Mapping) and isinstance(result.get("error"), Mapping):
        return f"{result['error'].get('code')}: {result['error'].get('message')}"
    if isinstance(result, Mapping) and "errorType" in result:
        return f"{result['errorType']}: {result.get('errorMessage')}"
    return json.dumps(result, ensure_ascii=False)
