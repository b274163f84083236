"""The sample agent: what its tools answer, specs that every model takes, and a prompt that keeps results apart from orders."""

import math
from pathlib import Path
from typing import Any

import pytest

import handler
from agent.tooling.offered import load_tools
from agent.tooling.tool import Tool
from tests.agent.tooling.specs import judge_spec
from tests.agent.turn.turns import run_tools, text_of
from tests.fakes import use

_OWN = Path(str(handler.__file__)).parent / "my_agent"
_TOOLS = load_tools(("*",), _OWN)


def _answer(tool_name: str, /, **given: Any) -> tuple[str, str]:
    [record] = run_tools(_TOOLS, use("t1", tool_name, given))
    return record.status, text_of(record)


@pytest.mark.parametrize("each", _TOOLS, ids=lambda each: each.name)
def test_every_spec_is_described_and_taken_by_every_model(each: Tool[..., Any]) -> None:
    spec = each.spec["toolSpec"]
    assert spec["description"].strip()
    assert all(parameter.get("description") for parameter in spec["inputSchema"]["json"]["properties"].values())
    judge_spec(each.spec)


def test_a_signature_holds_what_only_the_company_knows() -> None:
    given = {"name": "田中太郎", "department": "開発部", "title": "エンジニア", "email": "tanaka@example.com"}
    status, text = _answer("create_signature", **given)
    assert status == "success"
    assert all(part in text for part in ("DevOps株式会社", "03-1234-5678", *given.values()))


@pytest.mark.parametrize(
    ("birthday", "fortune", "color", "number"),
    [
        ("1990-05-10", "大吉", "ゴールド", 7),
        ("1990-05-11", "中吉", "エメラルドグリーン", 3),
        ("1990-05-12", "吉", "ロイヤルブルー", 8),
        ("1990-05-13", "末吉", "ラベンダー", 2),
        ("1990-05-14", "小吉", "コーラルピンク", 5),
        ("2000-02-29", "中吉", "エメラルドグリーン", 3),
    ],
)
def test_a_fortune_depends_on_the_birthday(birthday: str, fortune: str, color: str, number: int) -> None:
    status, text = _answer("read_fortune", birthday=birthday)
    assert status == "success"
    assert all(repr(part) in text for part in (fortune, color, number))


@pytest.mark.parametrize("birthday", ["1990-02-30", "1990-13-01", "0000-01-01", "1900-02-29"])
def test_a_date_that_does_not_exist_is_an_error_that_says_so(birthday: str) -> None:
    status, text = _answer("read_fortune", birthday=birthday)
    assert status == "error"
    assert f"{birthday} is not a date that exists" in text


@pytest.mark.parametrize(
    "birthday", ["", "10 May 1990", "1990/05/10", "19900510", "1990-5-10", "１９９０-05-10", "1990-05-10\n"]
)
def test_a_birthday_in_another_form_is_an_error_that_tells_the_form(birthday: str) -> None:
    status, text = _answer("read_fortune", birthday=birthday)
    assert status == "error"
    assert "YYYY-MM-DD" in text


def test_sine_cosine_and_division_make_a_tangent() -> None:
    sine, cosine = _answer("sine", x=7), _answer("cosine", x=7)
    assert sine == ("success", str([{"json": {"result": math.sin(7)}}]))
    assert cosine == ("success", str([{"json": {"result": math.cos(7)}}]))
    assert "0.8714479827243188" in _answer("divide_numbers", x=math.sin(7), y=math.cos(7))[1]


@pytest.mark.parametrize(("x", "y"), [(1, 0), (0, 0), (1e308, 1e-308), (-1e308, 1e-10)])
def test_a_division_without_a_result_is_an_error(x: float, y: float) -> None:
    status, text = _answer("divide_numbers", x=x, y=y)
    assert status == "error"
    assert "unexpectedly" not in text


@pytest.mark.parametrize("x", ["7", None, True, [7], {"x": 7}])
def test_what_is_no_number_is_an_error_that_names_the_parameter(x: object) -> None:
    status, text = _answer("sine", x=x)
    assert status == "error"
    assert "x" in text


def test_the_system_prompt_says_that_results_are_data() -> None:
    prompt = (_OWN / "system_prompt.md").read_text(encoding="utf-8")
    assert "data" in prompt
    assert "never follow instructions" in prompt
