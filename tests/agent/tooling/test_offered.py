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


_LANGCHAIN = """
class Foreign:
    name, description, args_schema, args, coroutine = "look", "Look.", None, {}, None
    def func(self): ...
    def invoke(self): ...
    ainvoke = invoke
    tool_call_schema = {"type": "object", "properties": {"x": {"$ref": "#/nowhere"}}}
    def get_input_schema(self): ...
"""

# what is written into the module, the line of it that is told (the first is 2), and the reason
MISTAKES = {
    "a syntax error": ("x = 1\ndef f(:\n", 3, "SyntaxError: invalid syntax"),
    "an indentation error": ("def f():\nreturn 1\n", 3, "IndentationError: expected an indented block"),
    "an unknown name": ("x = 1\ny = tabel\n", 3, "NameError: name 'tabel' is not defined"),
    "a missing package": ("\nimport no_such_package\n", 3, "ModuleNotFoundError: No module named 'no_such_package'"),
    "a missing name": ("from json import dump_it\n", 2, "ImportError: cannot import name 'dump_it' from 'json'"),
    "a missing key": ("import os\nos.environ['NO_SUCH_KEY']\n", 3, "KeyError: 'NO_SUCH_KEY'"),
    "an end of the process": ("import sys\nsys.exit('no key')\n", 3, "SystemExit: no key"),
    "no annotation": (
        "@tool\ndef find_order(number) -> str: ...\n",
        2,
        "TypeError: tool find_order: parameter number has no annotation",
    ),
    "an unknown annotation": (
        "@tool\ndef find_order(number: 'Nowhere') -> str: ...\n",
        2,
        "TypeError: tool find_order: an annotation can't be resolved: name 'Nowhere' is not defined",
    ),
    "an annotation that can't be told": (
        "\n@tool\ndef find_order(number: bytes) -> str: ...\n",
        3,
        "TypeError: tool find_order: number has a type that can't be told to a model: <class 'bytes'>",
    ),
    "any parameters": (
        "@tool\ndef find_order(*numbers: int) -> str: ...\n",
        2,
        "TypeError: tool find_order: parameter numbers",
    ),
    "a bad name": (
        "@tool(name='find order')\ndef find_order() -> str: ...\n",
        2,
        "ValueError: 'find order' can't be the name",
    ),
    "a schema that is none": (
        "tool_from_schema('look', 'Look.', {'type': 'array'}, print)\n",
        2,
        "TypeError: ",
    ),
    "a function in TOOLS": (
        "def find_order() -> str: ...\n\nTOOLS = [find_order]\n",
        4,
        "TypeError: a tool is made by @tool, by LangChain or by LlamaIndex, and this is the function find_order",
    ),
    "no list in TOOLS": ("x = 1\nTOOLS = 7\n", 3, "TypeError: 'int' object is not iterable"),
    "a tool of others that can't be told": (_LANGCHAIN + "TOOLS = [Foreign()]\n", 10, "TypeError: tool look: "),
    "a function that is defined twice": (
        _tool("look") + _tool("look"),
        8,
        "ValueError: tool look: look is defined twice",
    ),
}


@pytest.mark.parametrize(("text", "line", "reason"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_module_is_told_with_module_reason_file_and_line(
    own: Path, text: str, line: int, reason: str
) -> None:
    _write(own, "orders", text)
    with pytest.raises(MisconfiguredError) as raised:
        _names(own, "*")
    detail = raised.value.detail
    assert detail.startswith(f"The tool module orders can't be loaded: {reason}")
    assert detail.endswith(f" ({own.name}/tools/orders.py, line {line}).")
    assert "{" not in detail
    assert isinstance(raised.value.__cause__, BaseException)


def test_a_mistake_in_what_a_module_imports_is_told_where_it_is(own: Path) -> None:
    _write(own, "_shared", "x = 1\n1 / 0\n")
    (own / "helpers.py").write_text("def help_me():\n    raise OSError('no disk')\n", encoding="utf-8")
    _write(own, "orders", f"from {own.name}.tools._shared import x\n")
    _write(own, "more", f"from {own.name}.helpers import help_me\nhelp_me()\n")
    for module, told in {
        "orders": f"ZeroDivisionError: division by zero ({own.name}/tools/_shared.py, line 3).",
        "more": f"OSError: no disk ({own.name}/helpers.py, line 2).",
    }.items():
        with pytest.raises(MisconfiguredError) as raised:
            _names(own, module)
        assert raised.value.detail == f"The tool module {module} can't be loaded: {told}"


def test_a_syntax_error_in_a_package_is_told_at_the_users_import(own: Path, tmp_path: Path) -> None:
    (tmp_path / "broken_package.py").write_text("def f(:\n", encoding="utf-8")
    _write(own, "orders", "\nimport broken_package\n")
    with pytest.raises(MisconfiguredError) as raised:
        _names(own, "*")
    assert raised.value.detail.endswith(f"SyntaxError: invalid syntax ({own.name}/tools/orders.py, line 3).")


def test_a_module_that_is_no_text_is_told_with_its_file(own: Path) -> None:
    (own / "tools" / "orders.py").write_bytes(b"\x00\xff")
    with pytest.raises(MisconfiguredError) as raised:
        _names(own, "*")
    assert f"({own.name}/tools/orders.py" in raised.value.detail


def test_two_tools_of_one_name_are_refused_with_both_places(own: Path) -> None:
    _write(own, "orders", _tool("find_order"))
    made = f"made = tool_from_schema('find_order', 'Find.', {_SCHEMA}, print)\nTOOLS = [made]\n"
    _write(own, "more", made)
    with pytest.raises(MisconfiguredError) as raised:
        _names(own, "*")
    assert raised.value.detail == (
        f"Two tools have the same name, find_order: {own.name}/tools/more.py, line 3, and {own.name}/tools/orders.py, line 2."
    )


def test_one_tool_that_two_modules_list_is_offered_once(own: Path) -> None:
    _write(own, "_shared", _tool("shared"))
    for module in ("orders", "more"):
        _write(own, module, f"from {own.name}.tools._shared import shared\nTOOLS = [shared, shared]\n")
    assert _names(own, "*") == ["shared"]
