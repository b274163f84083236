"""What the log says of a bug in a tool."""

from typing import Any, cast

import pytest
from aws_lambda_powertools import Logger, Metrics

from agent.adapters.journal import PowertoolsJournal
from tests.agent.turn.turns import SECRET, boom, run_tools
from tests.fakes import use


class Lines:
    """A logger that keeps the fields of its errors."""

    def __init__(self) -> None:
        self.errors: list[dict[str, Any]] = []

    def error(self, message: str, extra: dict[str, Any]) -> None:
        self.errors.append({"message": message, **extra})


@pytest.mark.parametrize("log_content", [False, True])
def test_the_places_are_told_always_and_the_text_where_content_may_be_logged(log_content: bool) -> None:
    lines = Lines()
    [record] = run_tools([boom], use("t1", "boom"))
    PowertoolsJournal(cast(Logger, lines), cast(Metrics, None), log_content).tool_use("s", record)
    [line] = lines.errors
    assert (line["message"], line["error.type"]) == ("tool use", "RuntimeError")
    assert "turns.py" in line["trace"]
    assert "in boom" in line["trace"]
    assert line["trace"].endswith(f"RuntimeError: {SECRET}\n") is log_content
    assert (SECRET in line["trace"]) is log_content
