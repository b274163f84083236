"""What the events of the sample agent show in the demo."""

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
