"""The demo: direct events in order, what they show, and the session table."""

import io
import json
import re

import pytest

from local.__main__ import main
from local.demo import SETTINGS, run_demo
from local.screen import Screen
from local.stack import Choices, local_stack
from tests.agent.edge.gateway_events import http_api

_QUESTIONS = ("My name is Taro.", "What is 1 + 1?", "What is 2 + 2?", "What is 3 + 3?", "Do you remember my name?")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the demo shows of these questions in one session, and of an event that is no question."""
    folder, screen = tmp_path_factory.mktemp("events"), io.StringIO()
    for number, question in enumerate(_QUESTIONS):
        event = {"question": question, "session_id": "long"}
        (folder / f"{number}-question.json").write_text(json.dumps(event))
    (folder / "9-http.json").write_text(json.dumps(http_api("GET", "/health")))
    with local_stack(Choices(settings={**SETTINGS, "TOOLS": "calculator"})) as stack:
        assert run_demo(stack, Screen(screen), sorted(folder.glob("*.json"))) == 0
    return screen.getvalue()


def test_each_question_is_shown_with_its_answer(shown: str) -> None:
    assert re.findall(r"^(\S+\.json)", shown, re.MULTILINE) == [f"{number}-question.json" for number in range(5)]
    assert all(question in shown for question in _QUESTIONS)
    assert all(f"The result is {n} + {n} = {2 * n}." in shown for n in (1, 2, 3))


def test_a_name_is_forgotten_once_its_turn_is_trimmed(shown: str) -> None:
    assert "Taro" in shown.partition("1-question.json")[0]
    assert "Taro" not in shown.partition("4-question.json")[2].partition("The session table")[0]


def test_the_session_table_shows_the_turns_that_were_kept(shown: str) -> None:
    assert re.findall(r"long +(\d+) +done", shown.partition("The session table")[2]) == ["3", "4", "5"]


def test_the_demo_says_that_its_model_is_none_and_runs_the_events_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    assert "no language model" in capsys.readouterr().out
