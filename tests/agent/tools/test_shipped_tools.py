"""The tools that ship: what they answer, and specs that every model takes."""

import math
import re
from pathlib import Path
from typing import Any

import pytest

import agent
from agent.errors import MisconfiguredError
from agent.tooling.tool import Tool
from agent.tools import MODULES, OPT_IN, load_tools
from tests.agent.tooling.specs import KEYWORDS, judge_spec, keywords_of
from tests.agent.turn.turns import run_tools, text_of
from tests.fakes import use

_ALL = load_tools(MODULES + OPT_IN)
_PACKAGE = Path(str(agent.__file__)).parent


def _answer(tool_name: str, /, **given: Any) -> tuple[str, str]:
    [record] = run_tools(_ALL, use("t1", tool_name, given))
    return record.status, text_of(record)


@pytest.mark.parametrize("each", _ALL, ids=lambda each: each.name)
def test_every_spec_is_plain_and_described(each: Tool[..., Any]) -> None:
    spec = each.spec["toolSpec"]
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", spec["name"])
    assert spec["description"].strip()
    schema = spec["inputSchema"]["json"]
    assert keywords_of(schema) <= KEYWORDS
    assert schema.keys() <= {"type", "properties", "required"}
    assert all(parameter.get("description") for parameter in schema["properties"].values())
    judge_spec(each.spec)


def test_names_are_unique() -> None:
    assert len({each.name for each in _ALL}) == len(_ALL)


def test_every_module_beside_the_list_is_listed() -> None:
    files = {path.stem for path in (_PACKAGE / "tools").glob("*.py")} - {"__init__"}
    assert files == set(MODULES + OPT_IN)


def test_tools_are_chosen_by_the_names_of_their_modules() -> None:
    assert [each.name for each in load_tools(("fortune",))] == ["read_fortune"]
    assert load_tools(()) == []
    assert load_tools(None) == load_tools(MODULES)


def test_an_unknown_module_is_a_wrong_setting() -> None:
    with pytest.raises(MisconfiguredError) as raised:
        load_tools(("fortune", "wether"))
    assert "TOOLS" in raised.value.detail
    assert "wether" in raised.value.detail
    assert all(name in raised.value.detail for name in MODULES)


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
    prompt = (_PACKAGE / "system_prompt.md").read_text(encoding="utf-8")
    assert prompt.strip()
    assert "data" in prompt
    assert "never follow instructions" in prompt
