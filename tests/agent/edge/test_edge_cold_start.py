"""Importing the handler: needs nothing, reads nothing but settings, never fails."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.errors import AgentError
from handler import start
from tests.agent.edge.gateway_events import http_api
from tests.fakes import CLAUDE

ROOT = Path(__file__).parents[3]
SET_UP = {"MODEL_ID": CLAUDE, "TABLE_NAME": "sessions", "AWS_DEFAULT_REGION": "us-east-1"}
SCRIPT = """
import json, sys
import handler
answers = []
for event in json.loads(sys.argv[1]):
    try:
        answers.append(handler.lambda_handler(event, None))
    except Exception as error:
        answers.append({"raised": type(error).__name__, "text": str(error)})
print("ANSWERS" + json.dumps(answers))
"""


def run(environment: dict[str, str], *events: Any, tmp_path: Path) -> tuple[list[Any], str]:
    """What a fresh process answers, and all that it printed."""
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path[:] = {[str(ROOT / 'lambda'), *sys.path]!r}\n{SCRIPT}",
            json.dumps(events),
        ],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    log, _, answers = done.stdout.partition("ANSWERS")
    return json.loads(answers), log + done.stderr


def test_with_an_empty_environment_every_event_is_answered_as_misconfigured(tmp_path: Path) -> None:
    events = [{"question": "hi"}, http_api(body={"question": "hi"}), http_api("GET", "/health"), {"warmer": True}]
    (direct, chat, health, warm), log = run({}, *events, tmp_path=tmp_path)
    assert direct["raised"] == "MisconfiguredError"
    assert [answer["statusCode"] for answer in (chat, health)] == [500, 500]
    assert json.loads(chat["body"])["error"]["code"] == "misconfigured"
    assert "raised" not in warm
    assert "MODEL_ID" in log
    assert "MODEL_ID" not in direct["text"] + chat["body"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HISTORY_PAIRS", "many"),
        ("TOOLS", "nosuchtool"),
        ("CALLER_IDENTITY", "everyone"),
        ("LOG_CONTENT", "perhaps"),
    ],
)
def test_a_bad_setting_is_logged_at_start_and_answers_every_event(
    name: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    function = start({**SET_UP, name: value, "POWERTOOLS_SERVICE_NAME": f"bad-{name}"})
    log = capsys.readouterr().out
    assert name in log
    assert value in log
    for _ in range(2):
        answer, error = function.answer({"question": "hi"}, None)
        assert answer is None
        assert isinstance(error, AgentError)
        assert error.code == "misconfigured"
        assert value not in error.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("POWERTOOLS_LOG_LEVEL", "LOUD"),
        ("POWERTOOLS_LOGGER_SAMPLE_RATE", "often"),
        ("POWERTOOLS_METRICS_NAMESPACE", "x" * 300),
        ("AWS_DEFAULT_REGION", "not a region"),
        ("AWS_MAX_ATTEMPTS", "many"),
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "nonsense"),
    ],
)
def test_a_bad_variable_of_a_library_never_breaks_the_import(tmp_path: Path, name: str, value: str) -> None:
    events = [{"warmer": True}, http_api("GET", "/health"), http_api(body="no question")]
    (warm, health, chat), _ = run({**SET_UP, name: value}, *events, tmp_path=tmp_path)
    assert "raised" not in warm
    assert health["statusCode"] in (200, 500)
    assert chat["statusCode"] in (400, 500)


STREAMING_MODULES = {"agent.adapters.runtime", "agent.edge.streams", "agent.turn.telling"}


@pytest.mark.parametrize(("value", "imported"), [("", set()), ("false", set()), ("True", STREAMING_MODULES)])
def test_what_only_streaming_needs_is_imported_only_where_answers_stream(
    tmp_path: Path, value: str, imported: set[str]
) -> None:
    code = "import sys, handler; print('FOUND', *sorted(m for m in sys.modules if m.startswith('agent.')))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {[str(ROOT / 'lambda'), *sys.path]!r}\n{code}"],
        env={**SET_UP, "STREAMING": value},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = set(done.stdout.partition("FOUND")[2].split())
    assert found & STREAMING_MODULES == imported


def test_the_environment_is_read_in_one_place() -> None:
    readers = {
        path.relative_to(ROOT / "lambda").as_posix()
        for path in (ROOT / "lambda").rglob("*.py")
        if "tools" not in path.parts  # which may have settings of their own
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "os" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "os")
    }
    assert readers == {"handler.py"}
    source = ast.parse((ROOT / "lambda" / "handler.py").read_text(encoding="utf-8"))
    uses = [
        node.attr for node in ast.walk(source) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "os"
    ]
    assert uses == ["environ"]


def test_the_environment_of_the_process_is_not_a_settings_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_ID", CLAUDE)
    monkeypatch.setenv("TABLE_NAME", "sessions")
    _, error = start({}).answer({"question": "hi"}, None)
    assert error is not None
    assert error.code == "misconfigured"
    assert os.environ["MODEL_ID"] == CLAUDE
