"""The calculator: exact results, formulas as people write them, and attacks that end in an error at once."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ToolError
from agent.tools.calculator import calculate

_LAMBDA = Path(__file__).parents[3] / "lambda"
_SECONDS = 0.5

_CODE = (
    "__import__('os').system('touch MARKER')",
    "open('MARKER', 'w')",
    "().__class__.__base__.__subclasses__()",
    "(lambda: open('MARKER', 'w'))()",
    "[open('MARKER', 'w') for _ in (1,)]",
    "(x := open('MARKER', 'w'))",
    "f\"{open('MARKER', 'w')}\"",
    "sqrt.__globals__",
    "sqrt(abs)(1)",
    "max(*(1, 2))",
    "round(number=1)",
    "eval(1)",
    "exec",
    "print(1)",
    "1 if 1 else 2",
    "not 1",
    "1 < 2",
    "1 and 2",
    "True",
    "None",
    "...",
    "'9' * 10 ** 9",
    "[1] * 9",
    "1j",
    "~1",
    "1 @ 2",
    "1; 2",
    "1\x00",
    "\ud800",
    "await 1",
    "yield",
)
_HUGE = (
    "9**9**9",
    "10**10**8",
    "2**(2**40)",
    "99999**100000",
    "(1/99999)**100000",
    "7**-(10**9)",
    "1<<10**9",
    "factorial(10**7)",
    "factorial(factorial(20))",
    "1e999999999",
    "1e9999",
    "round(1/3, 10**9)",
    "exp(10**9)",
    "pi**10**6",
    "10**4000 * pi",
    "*".join(["9**999"] * 100),
    "(" * 100_000 + "1" + ")" * 100_000,
    "(" * 400 + "1" + ")" * 400,
    "9" * 5000,
    "1+" * 100_000 + "1",
)
# Runs apart, within 512 MB, in a thread as tools do; writes for each formula the seconds of processor time and how it ended.
_JUDGE = """
import json, resource, sys, threading, time
resource.setrlimit(resource.RLIMIT_AS, (512 * 2**20,) * 2)
from agent.errors import ToolError
from agent.tools.calculator import calculate
def judge():
    for formula in json.load(sys.stdin):
        began = time.thread_time()
        try:
            ended = "result " + calculate(formula)
        except ToolError as error:
            ended = "error " + error.message
        except BaseException as error:
            ended = repr(error)
        print(json.dumps([time.thread_time() - began, ended]))
thread = threading.Thread(target=judge)
thread.start()
thread.join()
"""


def _judged(formulas: tuple[str, ...], folder: Path) -> list[Any]:
    done = subprocess.run(
        [sys.executable, "-c", _JUDGE],
        input=json.dumps(formulas),
        cwd=folder,
        env={"PYTHONPATH": ":".join([str(_LAMBDA), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_no_attack_gets_anything_but_an_error_and_each_at_once(tmp_path: Path) -> None:
    formulas = _CODE + _HUGE
    judged = _judged(formulas, tmp_path)
    assert len(judged) == len(formulas)
    for formula, (seconds, ended) in zip(formulas, judged, strict=True):
        assert ended.startswith("error "), (formula[:80], ended)
        assert seconds < _SECONDS, (formula[:80], seconds)
    assert list(tmp_path.iterdir()) == []


def test_the_longest_formulas_are_calculated_at_once(tmp_path: Path) -> None:
    formulas = ("+".join("1" * 500), "-" * 998 + "12", "+".join(["1/7"] * 250), "*".join(["sqrt(2)"] * 125), "9" * 1000)
    results = [ended for seconds, ended in _judged(formulas, tmp_path) if seconds < _SECONDS]
    assert results[:3] == ["result 500", "result 12", "result 250/7 (about 35.71428571428571)"]
    assert len(results) == 5
    assert all(result.startswith("result ") for result in results)


@pytest.mark.parametrize(
    ("formula", "result"),
    [
        ("0.1 + 0.2", "0.3"),
        ("1.005 * 100", "100.5"),
        ("0.1 * 3 - 0.3", "0"),
        ("9007199254740993 + 0", "9007199254740993"),
        ("2 ** 200", str(2**200)),
        ("2 ** -2", "0.25"),
        ("10 ** 4200", "1" + "0" * 4200),
        ("factorial(20)", "2432902008176640000"),
        ("6 / 4", "1.5"),
        ("1 / 3", "1/3 (about 0.3333333333333333)"),
        ("1 / 3 * 3", "1"),
        ("(1/3) ** 1000", "about 7.5638913231041E-478"),
        ("0.1 ** 300", "1E-300"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("7.5 % 2", "1.5"),
        ("1e3 + .5 + 1.", "1001.5"),
        ("2 + 3 * 4", "14"),
        ("-2 ** 2", "-4"),
        ("2 ** 3 ** 2", "512"),
        ("1 ** (10 ** 300)", "1"),
        ("sqrt(16 / 9)", "4/3 (about 1.333333333333333)"),
        ("4 ** 0.5", "2"),
        ("sqrt(2)", "about 1.4142135623731"),
        ("log(8, 2)", "3"),
        ("floor(log10(1000))", "3"),
        ("log2(2 ** 13000)", "13000"),
        ("log(e)", "about 1"),
        ("sin(7) / cos(7)", "about 0.871447982724319"),
        ("degrees(pi)", "about 180"),
        ("round(2.5) + round(-2.5)", "0"),
        ("round(2.5)", "3"),
        ("round(2.675, 2)", "2.68"),
        ("round(1234, -2)", "1200"),
        ("round(pi, 2)", "3.14"),
        ("floor(-1.5)", "-2"),
        ("ceil(1.2) + abs(-3)", "5"),
        ("max(1, 2.5, 2) - min(3, 1)", "1.5"),
    ],
)
def test_a_result_is_exact_or_says_that_it_is_not(formula: str, result: str) -> None:
    assert calculate(formula) == result


@pytest.mark.parametrize(
    ("formula", "result"),
    [
        ("（１＋２）×３÷４", "2.25"),
        ("０．１＋０．２", "0.3"),
        ("100✕（2026－1968）", "5800"),
        ("ｍａｘ（１，　２）", "2"),
        ("5 − 3", "2"),
        ("2^10", "1024"),
        ("2 * π", "about 6.28318530717959"),
        ("\n1 +\n\t2 \n", "3"),
    ],
)
def test_a_formula_is_read_as_people_write_it(formula: str, result: str) -> None:
    assert calculate(formula) == result


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("", "blank"),
        ("1 / 0", "Division by zero"),
        ("1 % (pi - pi)", "Division by zero"),
        ("0 ** -1", "Division by zero"),
        ("(pi - pi) ** -1", "no real result"),
        ("sqrt(-1)", "no real result"),
        ("(-8) ** (1/3)", "no real result"),
        ("log(0)", "no real result"),
        ("log(2, 1)", "Division by zero"),
        ("exp(1000)", "too large"),
        ("factorial(2.5)", "whole number"),
        ("round(1, 0.5)", "whole number"),
        ("sin()", "sin can't be called with 0 arguments"),
        ("x + 1", "no constant x"),
        ("root(4)", "no function root"),
        ("2pi", "an operator between"),
        ("0x10", "an operator between"),
        ("(1 + 2", "parentheses"),
        ("1 +", "operators"),
        ("1, 2", "may hold only"),
        ("2²", "'²'"),
        ("5!", "'!'"),
        ("19,800 * 1.1", "thousands separators"),
        ("max(1,200)", "thousands separators"),
        ("200 * 10%", "10/100"),
        ("200 * 10% + 5", "10/100"),
        ("200 * 10％ ÷ 3", "10/100"),
        ("1" * 1001, "too long"),
    ],
)
def test_what_cannot_be_calculated_is_an_error_that_says_why(formula: str, told: str) -> None:
    with pytest.raises(ToolError, match=told.replace("(", r"\(")) as raised:
        calculate(formula)
    assert len(raised.value.message) < 300
