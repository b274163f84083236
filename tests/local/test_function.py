"""Loading, running and reloading a function in this process."""

import importlib.util
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.function import LocalFunction, importable

MODULE = """
import json, logging
from words import WORD

logger = logging.getLogger("service_undefined")

def lambda_handler(event, context):
    if event == "raise":
        raise ValueError("no such thing")
    if event == "unserialisable":
        return {1, 2}
    if event == "log":
        logger.warning("tool use")
    if event == "print":
        print("said by a tool")
    return {"word": WORD, "event": event, "left": context.get_remaining_time_in_millis(), "id": context.aws_request_id}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "handler.py").write_text(MODULE)
    (tmp_path / "words.py").write_text("WORD = 'one'")
    return tmp_path


@pytest.fixture
def function(folder: Path) -> Iterator[LocalFunction]:
    with LocalFunction(folder, timeout_seconds=9) as function:
        yield function
    sys.modules.pop("words", None)


def test_the_function_gets_the_event_and_a_context(function: LocalFunction) -> None:
    first, succeeded = function.invoke({"a": ["b"]})
    second, _ = function.invoke({})
    assert succeeded
    assert first["event"] == {"a": ["b"]}
    assert 0 < first["left"] <= 9000
    assert first["id"] != second["id"]


def test_what_the_function_raises_is_lambdas_error_object(function: LocalFunction) -> None:
    assert function.invoke("raise") == ({"errorType": "ValueError", "errorMessage": "no such thing"}, False)


def test_a_result_that_is_no_json_fails(function: LocalFunction) -> None:
    result, succeeded = function.invoke("unserialisable")
    assert (result["errorType"], succeeded) == ("TypeError", False)


def test_a_changed_file_counts_from_the_next_event(
    function: LocalFunction, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert function.invoke({})[0]["word"] == "one"
    (folder / "words.py").write_text("WORD = 'two'")
    assert function.invoke({})[0]["word"] == "two"
    assert "loaded again" in capsys.readouterr().err


def test_a_broken_file_is_told_once_and_mended_by_the_next_change(
    function: LocalFunction, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "words.py").write_text("WORD = ")
    assert function.invoke({})[0]["errorType"] == "SyntaxError"
    assert "words.py" in capsys.readouterr().err
    assert function.invoke({}) == ({"errorType": "SyntaxError", "errorMessage": _message(function)}, False)
    assert capsys.readouterr().err == ""
    (folder / "words.py").write_text("WORD = 'mended'")
    assert function.invoke({})[0]["word"] == "mended"


def _message(function: LocalFunction) -> str:
    return str(function.invoke({})[0]["errorMessage"])


def test_without_a_handler_the_failure_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if not Path(folder, "handler.py").exists()])
    with LocalFunction(tmp_path) as function:
        result, succeeded = function.invoke({})
    assert (result["errorType"], succeeded) == ("ModuleNotFoundError", False)


def test_prints_of_the_function_go_to_stderr(function: LocalFunction, capsys: pytest.CaptureFixture[str]) -> None:
    function.invoke("print")
    assert capsys.readouterr() == ("", "said by a tool\n")


def test_log_records_are_told_while_the_context_lasts(folder: Path) -> None:
    records: list[str] = []
    with LocalFunction(folder, on_record=lambda record: records.append(record.getMessage())) as function:
        function.invoke("log")
    logging.getLogger("service_undefined").warning("afterwards")
    assert records == ["tool use"]


@pytest.mark.parametrize(
    ("show_logs", "shown"), [(True, "info\nerror\n"), (False, "error\n  detail: two\n    lines\n")]
)
def test_raw_logs_are_shown_by_choice_and_else_what_went_wrong_as_lines(
    folder: Path, capsys: pytest.CaptureFixture[str], show_logs: bool, shown: str
) -> None:
    logger = logging.getLogger("service_undefined")
    raw = logging.StreamHandler(sys.stdout)
    logger.addHandler(raw)
    logger.setLevel(logging.INFO)
    try:
        with LocalFunction(folder, show_logs=show_logs) as function:
            function.invoke({})
            logger.info("info")
            logger.error("error", extra={"detail": "two\nlines", "session_id": "s"})
    finally:
        logger.removeHandler(raw)
    assert capsys.readouterr() == ("", shown)


TOLD = """
import logging
from types import SimpleNamespace

logger = logging.getLogger("service_undefined")
failure = RuntimeError("not set up")
try:
    import tool
except Exception as cause:
    failure.__cause__ = cause
logger.error("request failed", extra={"error.type": "misconfigured", "detail": "tool.py can't be loaded"})
_FUNCTION = SimpleNamespace(entrance=SimpleNamespace(failure=failure))

def lambda_handler(event, context):
    logger.error("request failed", extra={"error.type": "misconfigured", "detail": "tool.py can't be loaded"})
    logger.warning("request failed", extra={"error.type": "not_found", "detail": ""})
    return {}
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "tool.py can't be loaded\n"),
        ("def x(:", r"  File \".*/tool.py\", line 1\n    def x\(:\n *\^\nSyntaxError: .*\n"),
        (
            "import orders",
            r"  File \".*/tool.py\", line 1, in <module>\n    import orders\nModuleNotFoundError: .*'orders'\n"
            r"If orders is a package: name it in an \.in .*\n",
        ),
    ],
)
def test_what_keeps_the_function_from_being_built_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, shown: str
) -> None:
    (tmp_path / "handler.py").write_text(TOLD)
    (tmp_path / "tool.py").write_text(text)
    sys.modules.pop("tool", None)
    expected = f"Traceback \\(most recent call last\\):\n{shown}" if text else shown
    with LocalFunction(tmp_path) as function:
        function.invoke({})
        function.invoke({})
        assert re.fullmatch(expected, capsys.readouterr().err)
        (tmp_path / "tool.py").write_text(f"{text}  # changed")
        function.invoke({})
        assert "tool.py" in capsys.readouterr().err


def test_a_root_that_was_importable_before_stays_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    with LocalFunction(folder) as function:
        function.invoke({})
    assert str(folder) in sys.path


def test_within_importable_the_modules_of_a_root_can_be_imported(folder: Path) -> None:
    before = list(sys.path)
    with importable(folder):
        assert importlib.util.find_spec("words")
        importlib.import_module("words")
    assert sys.path == before
    assert sys.modules.pop("words").WORD == "one"
    assert not list(folder.rglob("*.pyc"))


def test_modules_and_path_are_given_back(folder: Path) -> None:
    path, handler = list(sys.path), sys.modules.get("handler")
    with LocalFunction(folder) as function:
        function.invoke({})
        assert sys.modules["handler"] is not handler
    assert (sys.path, sys.modules.get("handler")) == (path, handler)
