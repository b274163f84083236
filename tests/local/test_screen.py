"""What is printed, and how."""

import io
import logging
from typing import Any

import pytest

from local.screen import Screen, describe_failure, failed
from local.session_table import Row


def record(**fields: Any) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": "tool use", "gen_ai.tool.name": "sine", "milliseconds": 2} | fields)


def test_text_is_never_read_as_markup_or_wrapped() -> None:
    file = io.StringIO()
    text = "[bold]x[/bold] :smile: " + "word " * 60
    Screen(file).labelled("answer", text)
    assert file.getvalue() == f"  answer    {text}\n"


def test_further_lines_stand_under_the_first() -> None:
    file = io.StringIO()
    Screen(file).labelled("answer", "a\nb")
    assert file.getvalue() == "  answer    a\n            b\n"


def test_a_tool_use_shows_its_input_where_it_is_known() -> None:
    file = io.StringIO()
    screen = Screen(file)
    screen.tool_use(record(status="success", input={"x": "七"}))
    screen.tool_use(record(status="error"))
    screen.tool_use(record(msg="turn"))
    assert file.getvalue() == '  tool      sine  success  2 ms  {"x": "七"}\n  tool      sine  error  2 ms\n'


def test_an_answer_tells_why_it_stopped_early() -> None:
    file = io.StringIO()
    Screen(file).answer({"answer": "so far", "stop_reason": "step_limit"})
    assert file.getvalue() == "  answer    so far\n  stopped   step_limit\n"


def test_the_session_table_fits_80_columns_and_keeps_what_counts() -> None:
    file = io.StringIO()
    row = Row("s" * 64, 12, "done", "質問です。\n" * 20, 123456, "2026-01-01", 1800000000)
    Screen(file).sessions([row])
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert all(part in file.getvalue() for part in ("12", "done", "123456", "2027-01-15"))


@pytest.mark.parametrize(
    ("result", "succeeded", "expected"),
    [
        ({"answer": "a"}, True, False),
        ({"statusCode": 204}, True, False),
        ({"statusCode": 400}, True, True),
        ({"error": {}}, True, True),
        ({"errorType": "X"}, False, True),
        (None, True, False),
    ],
)
def test_every_form_of_failure_is_seen(result: Any, succeeded: bool, expected: bool) -> None:
    assert failed(result, succeeded) is expected


def test_an_unknown_failure_is_shown_as_it_is() -> None:
    assert describe_failure({"statusCode": 400}) == '{"statusCode": 400}'
