"""Tracebacks as the writer of a tool reads them."""

import importlib.util
import json
import traceback
from pathlib import Path
from typing import Any

import pytest

from local.tracebacks import own_places

ENGINE = """
def run(call):
    return call()
"""
OWN = """
import json

def outer():
    return json.loads("{")

def wrapped():
    try:
        outer()
    except ValueError as error:
        raise RuntimeError("no orders") from error
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder, text in (("agent", ENGINE), ("my_agent", OWN)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "module.py").write_text(text)
    return tmp_path


def load(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location("module", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trace_of(root: Path, name: str) -> str:
    run, call = load(root / "agent/module.py").run, getattr(load(root / "my_agent/module.py"), name)
    with pytest.raises((ValueError, RuntimeError)) as raised:
        run(call)
    return "".join(traceback.format_exception(raised.value))


def test_it_ends_at_the_line_of_ones_own_that_led_there(root: Path) -> None:
    text = trace_of(root, "outer")
    assert "agent/module.py" in text
    assert json.__file__.replace("__init__", "decoder") in text
    lines = own_places(text, root).splitlines()
    assert lines[:3] == [
        "Traceback (most recent call last):",
        f'  File "{root}/my_agent/module.py", line 5, in outer',
        '    return json.loads("{")',
    ]
    assert lines[-1].startswith("json.decoder.JSONDecodeError: Expecting property name")
    assert not [line for line in lines[3:-1] if line.strip(" ^~")]


def test_what_an_error_was_raised_from_is_told_as_well(root: Path) -> None:
    told = own_places(trace_of(root, "wrapped"), root)
    assert told.count("Traceback (most recent call last):") == 2
    assert told.index("JSONDecodeError") < told.index("direct cause") < told.index("RuntimeError: no orders")
    assert {line.split(",")[0] for line in told.splitlines() if line.startswith("  File")} == {
        f'  File "{root}/my_agent/module.py"'
    }


def test_a_syntax_error_is_told_by_its_place_alone(root: Path) -> None:
    (root / "my_agent/module.py").write_text("def tool(:\n")
    with pytest.raises(SyntaxError) as raised:
        load(root / "my_agent/module.py")
    lines = own_places("".join(traceback.format_exception(raised.value)), root).splitlines()
    assert [line for line in lines if line.startswith("  File")] == [f'  File "{root}/my_agent/module.py", line 1']
    assert lines[0] == "Traceback (most recent call last):"
    assert "def tool(:" in lines[2]
    assert lines[-1].startswith("SyntaxError: ")


def test_where_nothing_is_of_ones_own_all_places_stay(root: Path) -> None:
    with pytest.raises(ValueError, match="Expecting") as raised:
        load(root / "agent/module.py").run(lambda: json.loads("{"))
    text = "".join(traceback.format_exception(raised.value))
    assert own_places(text, root) == text


@pytest.mark.parametrize("text", ["", "MAX_STEPS is '0', but it must be a whole number.", "one\n  two\n\nthree"])
def test_a_text_that_is_no_traceback_stays_as_it_is(text: str, root: Path) -> None:
    assert own_places(text, root) == text
