"""Which tool modules are offered: by being there, by the setting TOOLS, and which of their tools."""

import itertools
from pathlib import Path

import pytest

from agent.errors import MisconfiguredError
from agent.tooling.offered import load_tools

_serial = itertools.count(1)
_HEAD = "from agent.tooling.tool import tool, tool_from_schema\n"
_SCHEMA = '{"type": "object", "properties": {}}'


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a name of its own, since a module is imported once in a process."""
    folder = tmp_path / f"own_{next(_serial)}"
    (folder / "tools").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def _tool(name: str) -> str:
    return f'@tool\ndef {name}() -> str:\n    """Say it."""\n    return {name!r}\n\n\n'


def _write(own: Path, module: str, *parts: str) -> None:
    (own / "tools" / f"{module}.py").write_text(_HEAD + "".join(parts), encoding="utf-8")


def _names(own: Path, *chosen: str) -> list[str]:
    return [each.name for each in load_tools(chosen, own)]


def test_a_module_is_offered_by_being_there_unless_its_name_begins_with_an_underscore(own: Path) -> None:
    _write(own, "orders", _tool("find_order"))
    _write(own, "agenda", _tool("find_date"))
    for name in ("_shared", ".#orders"):
        _write(own, name, "raise RuntimeError\n")
    for name in ("__init__.py", "orders.toml"):
        (own / "tools" / name).write_text("")
    assert _names(own, "*") == ["find_date", "find_order"]


def test_tools_names_modules_of_both_kinds_in_its_order_each_once(own: Path) -> None:
    _write(own, "orders", _tool("find_order"))
    _write(own, "agenda", _tool("find_date"))
    assert _names(own, "orders", "calculator", "*", "orders") == ["find_order", "calculate", "find_date"]
    assert _names(own) == []


def test_what_is_not_chosen_is_not_imported(own: Path) -> None:
    _write(own, "orders", _tool("find_order"))
    _write(own, "broken", "raise RuntimeError\n")
    assert _names(own, "orders") == ["find_order"]


@pytest.mark.parametrize("missing", ["tools", "all"])
def test_without_a_folder_there_are_no_tools_of_the_users(own: Path, missing: str) -> None:
    (own / "tools").rmdir()
    if missing == "all":
        own.rmdir()
    assert _names(own, "*") == []
    assert _names(own, "*", "calculator") == ["calculate"]


def test_an_unknown_name_is_a_wrong_setting_that_tells_those_there_are(own: Path) -> None:
    _write(own, "orders", _tool("find_order"))
    with pytest.raises(MisconfiguredError) as raised:
        _names(own, "*", "wether", "_shared")
    assert raised.value.detail == (
        "TOOLS names wether, _shared, but the tool modules are: orders, calculator, shell, tickets, web_search."
    )


@pytest.mark.parametrize("chosen", ["*", "calculator"])
def test_a_module_with_the_name_of_one_that_ships_is_refused(own: Path, chosen: str) -> None:
    _write(own, "calculator", _tool("add"))
    with pytest.raises(MisconfiguredError, match=r".*") as raised:
        _names(own, chosen)
    assert f"{own.name}/tools/calculator.py has the name of a module that ships" in raised.value.detail


def test_tools_of_a_module_come_in_the_order_of_their_lines(own: Path) -> None:
    again = "first, second = second, first\n"
    _write(own, "orders", _tool("second"), _tool("first"), again, _tool("third"))
    assert _names(own, "*") == ["second", "first", "third"]


def test_what_is_imported_or_made_of_a_schema_counts_only_where_tools_lists_it(own: Path) -> None:
    _write(own, "_shared", _tool("shared"))
    imported = f"from {own.name}.tools._shared import shared\n"
    made = f"def run() -> str:\n    return ''\n\n\nmade = tool_from_schema('made', 'Make.', {_SCHEMA}, run)\n"
    _write(own, "orders", imported, made, _tool("find_order"))
    _write(
        own,
        "more",
        imported,
        made.replace("'made'", "'more'"),
        _tool("find_more"),
        "TOOLS = [made, find_more, shared]\n",
    )
    assert _names(own, "orders") == ["find_order"]
    assert _names(own, "more") == ["find_more", "more", "shared"]
