"""The tools that ship: specs that every model takes, and when they are offered."""

import re
from pathlib import Path
from typing import Any

import pytest

import agent
from agent.tooling.offered import load_tools, modules_in
from agent.tooling.tool import Tool
from tests.agent.tooling.specs import KEYWORDS, judge_spec, keywords_of

_SHIPPED = list(modules_in(Path(str(agent.__file__)).parent / "tools"))
_ALL = load_tools(_SHIPPED, Path())


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


def test_what_ships_is_offered_only_where_it_is_named(tmp_path: Path) -> None:
    assert _SHIPPED == ["calculator", "shell", "tickets", "web_search"]
    assert [each.name for each in load_tools(("calculator",), tmp_path)] == ["calculate"]
    assert load_tools(("*",), tmp_path) == []
