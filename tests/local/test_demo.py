"""The demo over the function itself: what the sample events promise."""

import contextlib
import io
import re

import pytest

from local.__main__ import main


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    """What the demo printed, by the name of the event; the session table is the last event's end."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert main(["demo"]) == 0
    parts = re.split(r"^\d\d-([a-z-]+)\.json.*$", shown.getvalue(), flags=re.MULTILINE)
    return dict(zip(["banner", *parts[1::2]], parts[::2], strict=True))


def test_the_banner_says_that_it_is_no_language_model(sections: dict[str, str]) -> None:
    assert "no language model" in sections["banner"]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("signature", ["create_signature  success", "DevOps株式会社", "03-1234-5678", "田中太郎"]),
        ("fortune", ["read_fortune  success", "大吉", "ゴールド", "7"]),
        ("fortune-bad-date", ["read_fortune  error", "1990-02-30"]),
        ("tangent", ["tangent  error", "sine  success", "divide_numbers  success", "0.8714479827243188"]),
        ("name-asked", ["Taro"]),
    ],
)
def test_an_event_shows_its_tools_and_its_answer(sections: dict[str, str], event: str, expected: list[str]) -> None:
    assert [part for part in expected if part not in sections[event]] == []


def test_a_name_is_forgotten_once_its_turn_is_trimmed(sections: dict[str, str]) -> None:
    assert "Taro" in sections["length-name-told"]
    assert "Taro" not in sections["length-name-asked"]


def test_the_session_table_shows_the_turns_that_were_kept(sections: dict[str, str]) -> None:
    table = sections["length-name-asked"].partition("The session table")[2]
    turns = re.findall(r"test-session-length +(\d+) +done", table)
    assert turns == ["4", "5", "6"]
