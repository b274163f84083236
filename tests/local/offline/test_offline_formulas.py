"""Which calculation a question asks for."""

import pytest

from local.offline.entities import extract
from local.offline.formulas import find_formula


@pytest.mark.parametrize(
    ("question", "formula"),
    [
        ("12 / 4", "12 / 4"),
        ("12÷4は?", "12 / 4"),
        ("12を4で割って", "12 / 4"),
        ("what is 10 divided by 4", "10 / 4"),
        ("Divide 10 by 4, please", "10 / 4"),
        ("5から3を引いて", "5 - 3"),
        ("5に3を足して", "5 + 3"),
        ("subtract 3 from 5", "5 - 3"),
        ("What is (1 + 2) * 3?", "(1 + 2) * 3"),
        ("1,200 * 3 = ?", "1200 * 3"),
        ("What is the tangent of 7?", "tangent(7)"),
        ("7の正弦を求めて", "sine(7)"),
        ("cos(-0.5) + 1", "cosine(-0.5) + 1"),
        ("the cosine of 180 degrees", "cosine(3.141592653589793)"),
        ("square root of 16", "sqrt(16)"),
        ("角度7のタンジェントを計算して", "tangent(7)"),
        ("100を7で割った余りは?", "100 % 7"),
    ],
)
def test_a_calculation_is_found_in_signs_and_in_words(question: str, formula: str) -> None:
    found = find_formula(extract(question).rest)
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
        "what is " + "(" * 300 + "1+1" + ")" * 300,
        "what is " + "1+" * 500 + "1",
        "what is 007 + 1",
        "",
    ],
)
def test_what_asks_for_no_calculation_gives_none(question: str) -> None:
    assert find_formula(extract(question).rest) is None
