"""Questions from the terminal."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from local.chat import Asked, ask, chat
from local.screen import Screen
from local.stack import Choices, Stack, local_stack


@pytest.fixture
def shown() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def stack(choices: Choices, shown: io.StringIO, tmp_path: Path) -> Iterator[Stack]:
    kept = replace(choices, keep=tmp_path / "kept.json")
    with local_stack(kept, on_record=Screen(shown).tool_use) as stack:
        yield stack


def typing(*lines: str, end: type[BaseException] = EOFError) -> Callable[[str], str]:
    """Someone who types these lines and then leaves."""
    left = list(lines)

    def read_line(_prompt: str) -> str:
        if not left:
            raise end
        return left.pop(0)

    return read_line


def asked(shown: io.StringIO, said: list[str], *, as_json: bool = False) -> Asked:
    return Asked(as_json=as_json, details=Screen(shown), say=said.append, can_go_on=False)


def test_a_chat_shows_tool_uses_answers_and_tokens_in_this_order(stack: Stack, shown: io.StringIO) -> None:
    assert chat(stack, Screen(shown), "s", typing("hello", "")) == 0
    text = shown.getvalue()
    assert text.index("echo  success  3 ms") < text.index("You said: hello") < text.index("5 tokens in, 7 out")
    assert [row.session_id for row in stack.sessions.rows()] == ["s"]


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
def test_ctrl_d_and_ctrl_c_leave_cleanly(stack: Stack, shown: io.StringIO, end: type[BaseException]) -> None:
    assert chat(stack, Screen(shown), None, typing(end=end)) == 0


@pytest.mark.parametrize("word", ["/quit", "/exit", "exit", "Quit "])
def test_whoever_says_so_leaves(stack: Stack, shown: io.StringIO, word: str) -> None:
    assert chat(stack, Screen(shown), None, typing(word, "hello")) == 0
    assert "hello" not in shown.getvalue()


def test_a_session_can_be_changed_and_forgotten(stack: Stack, shown: io.StringIO) -> None:
    chat(stack, Screen(shown), "s", typing("hello", "/session t", "hello", "hello", "/forget", "hello"))
    assert [(row.session_id, row.turn) for row in stack.sessions.rows()] == [("s", 1), ("t", 1)]


def test_help_and_unknown_commands_list_the_commands(stack: Stack, shown: io.StringIO) -> None:
    chat(stack, Screen(shown), "s", typing("/help", "/nope"))
    assert shown.getvalue().count("/forget ") == 2
    assert "There is no /nope" in shown.getvalue()


@pytest.mark.parametrize(
    ("question", "told"), [("raise", "ValueError: no such thing"), ("refuse", "invalid_request: Not a question.")]
)
def test_a_failure_is_told_and_the_chat_goes_on(stack: Stack, shown: io.StringIO, question: str, told: str) -> None:
    chat(stack, Screen(shown), "s", typing(question, "hello"))
    assert shown.getvalue().index(told) < shown.getvalue().index("You said: hello")


def test_answers_are_kept_as_the_chat_goes(stack: Stack, shown: io.StringIO) -> None:
    chat(stack, Screen(shown), "s", typing("hello"))
    assert stack.keep is not None
    assert "hello" in stack.keep.read_text(encoding="utf-8")


def test_ask_says_the_answer_alone(stack: Stack, shown: io.StringIO) -> None:
    said: list[str] = []
    assert ask(stack, "hello", "s", asked(shown, said)) == 0
    assert said == ["You said: hello"]
    assert "5 tokens in" in shown.getvalue()


def test_ask_can_say_the_whole_answer_as_json(stack: Stack, shown: io.StringIO) -> None:
    said: list[str] = []
    ask(stack, "hello", None, asked(shown, said, as_json=True))
    assert json.loads(said[0])["session_id"] == "made-up"


def test_ask_fails_with_the_reason_and_no_answer(stack: Stack, shown: io.StringIO) -> None:
    said: list[str] = []
    assert ask(stack, "raise", None, asked(shown, said)) == 1
    assert (said, shown.getvalue()) == ([], "ValueError: no such thing\n")
