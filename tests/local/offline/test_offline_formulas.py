"""Which calculation a question asks for."""

import pytest

from local.offline.arithmetic import find_formula
from local.offline.entities import extract


@pytest.mark.parametrize(
    ("question", "formula"),
    [
        ("12 / 4", "12 / 4"),
        ("5-3は?", "5-3"),
        ("What is (1 + 2) * 3?", "(1 + 2) * 3"),
        ("What is the tangent of 7?", "tangent(7)"),
        ("7の正弦を求めて", "sine(7)"),
        ("cos(-0.5)", "cosine(-0.5)"),
        ("角度7のタンジェントを計算して", "tangent(7)"),
    ],
)
def test_a_calculation_is_found_in_signs_and_in_words(question: str, formula: str) -> None:
    found = find_formula(extract(question)["rest"][0])
    assert found is not None
    assert found.text == formula


@pytest.mark.parametrize(
    "question",
    [
        "Are you available 24/7?",
        "My phone is 03-1234-5678",
        "What happened on 2024-05-01?",
        "What is T-1001?",
        "メールにサインを付けて",
        "the tangent of it",
        "What is 7?",
        "",
    ],
)
def test_what_asks_for_no_calculation_gives_none(question: str) -> None:
    assert find_formula(extract(question)["rest"][0]) is None
