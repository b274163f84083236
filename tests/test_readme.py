"""README.md, the pages of docs/ and CONTRIBUTING.md say what the code says."""

import ast
import json
import re
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agent import errors
from agent.adapters import journal
from agent.adapters.bedrock import model as bedrock
from agent.adapters.dynamodb import fitting
from agent.edge import events, requests, responses, routes
from agent.errors import AgentError
from agent.settings import Settings
from agent.tooling import toolbox
from agent.tooling.tool import Tool
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn import end_notes
from tests.agent.tooling.specs import judge_spec
from tests.agent.turn.turns import run_tools
from tests.documents import IS_NEW, PAGES, README, ROOT, missing
from tests.fakes import use

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
REFERENCE, TOOLS = PAGES["reference"], PAGES["tools"]
TEXTS = {"README": README, "CONTRIBUTING": CONTRIBUTING, **PAGES}
DOCUMENTS = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
REQUIRED = {"MODEL_ID": "model", "TABLE_NAME": "table"}


def table(text: str, first: str) -> dict[str, list[str]]:
    """The rows of the table whose first column has that head: first cell -> the others, without backticks."""
    _, found, rest = text.partition(f"| {first} |")
    assert found, f"no table begins with {first}"
    rows = [line for line in rest.split("\n\n")[0].splitlines()[2:] if line.startswith("|")]
    cells = [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in rows]
    return {row[0]: row[1:] for row in cells}


def code_after(sentence: str, text: str = README) -> str:
    """The code block that follows a sentence."""
    found = re.search(re.escape(sentence) + r".*?```[a-z]+\n(.*?)```", text, re.DOTALL)
    assert found, sentence
    return found[1]


def settings_read() -> dict[str, tuple[str, list[Any]]]:
    """Variable -> how settings.py reads it: the reader's method, and its constant arguments behind the name."""
    tree = ast.parse((ROOT / "lambda/agent/settings.py").read_text(encoding="utf-8"))
    found = {}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func.value) == "read"
        ):
            name, *others = [ast.literal_eval(argument) for argument in node.args]
            found[name] = (node.func.attr, others)
    return found


def test_the_settings_table_holds_every_setting_and_no_other() -> None:
    ours = {name for name in settings_read() if not name.startswith("POWERTOOLS_")}
    assert table(REFERENCE, "variable").keys() == ours | {"POWERTOOLS_*"}


def test_the_settings_table_tells_the_defaults() -> None:
    settings = Settings.from_environment(REQUIRED)
    told = {name: row[0] for name, row in table(REFERENCE, "variable").items() if name != "POWERTOOLS_*"}
    real = {name: "required" if name in REQUIRED else shown(getattr(settings, name.lower())) for name in told}
    assert told == real


def shown(value: object) -> str:
    if value in (None, (), "", {}):
        return "unset"
    return ",".join(value) if isinstance(value, tuple) else str(value).lower()


def test_the_settings_table_tells_what_is_allowed() -> None:
    rows = table(REFERENCE, "variable")
    for name, (method, others) in settings_read().items():
        if name.startswith("POWERTOOLS_"):
            continue
        if method in ("integer", "number", "optional_integer", "optional_number"):
            expected = f"{others[-2]:,} to {others[-1]:,}"
        elif method == "choice":
            expected = " or ".join(others[-1])
        else:
            expected = {"names": "names", "json_object": "a JSON object", "url": "a URL"}.get(method, "a text")
        assert rows[name][1] == expected, name


def test_the_error_table_is_that_of_the_code() -> None:
    rows = table(REFERENCE, "code")
    assert {code: int(row[0]) for code, row in rows.items()} == responses.STATUS
    assert {code for code, row in rows.items() if row[1] == "returned"} == set(responses.RETURNED)
    raised = {code: getattr(errors, row[1]) for code, row in rows.items() if row[1] not in ("returned", "–")}
    assert all(issubclass(error, AgentError) and error.code == code for code, error in raised.items())
    assert rows.keys() - raised.keys() == {*responses.RETURNED, "forbidden", "method_not_allowed"}


def test_the_route_table_is_that_of_the_code() -> None:
    assert table(REFERENCE, "route").keys() == routes.ROUTES.keys()


@pytest.mark.parametrize(
    ("limit", "number"),
    [
        ("question", f"{requests.MAX_QUESTION_CHARS:,} characters"),
        ("body", f"{events._MAX_BODY_BYTES // 1_000_000} MB"),
        ("answer", f"{end_notes._MAX_ANSWER_CHARS:,} characters"),
        ("stored turn", f"{fitting.LARGEST_ITEM:,} bytes"),
        ("stored turn", f"{fitting._KEPT_OF_RESULT:,} characters"),
        ("attempts of a model call", f"{bedrock.ATTEMPTS},"),
        ("time of a tool use", f"While {toolbox._MAX_HANGING} such threads"),
    ],
)
def test_the_limits_table_tells_the_numbers_of_the_code(limit: str, number: str) -> None:
    assert number in " ".join(table(REFERENCE, "of")[limit])


def test_logs_and_metrics_are_told_by_name() -> None:
    section = REFERENCE.partition("## Logs and metrics")[2].partition("\n## ")[0]
    tree = ast.parse(Path(journal.__file__).read_text(encoding="utf-8"))
    keys = chain.from_iterable(node.keys for node in ast.walk(tree) if isinstance(node, ast.Dict))
    fields = {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "self._emit")
    metrics = {keyword.arg for call in calls for keyword in call.keywords if keyword.arg}
    assert "gen_ai.tool.name" in fields
    assert "Turns" in metrics
    assert [name for name in sorted(fields | metrics) if f"`{name}`" not in section] == []


@DOCUMENTS
def test_every_make_target_that_is_named_exists(text: str) -> None:
    named = set(re.findall(r"(?:`|^\$ |/python3 )make ([a-z-]+)", text, re.MULTILINE))
    assert named or text not in (README, CONTRIBUTING)
    targets = re.findall(r"^([a-z][a-z -]*):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert named - {name for line in targets for name in line.split()} == set()


@DOCUMENTS
def test_every_file_that_is_named_exists(text: str) -> None:
    spans = re.findall(r"(?<!Write )`([\w.-]+(?:/[\w.-]+)*/?)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    top = {path.name for path in ROOT.iterdir()}
    paths = {span for span in spans if span.partition("/")[0] in top or span.endswith((".py", ".md"))}
    paths |= set(re.findall(r"\b(?:events|tests)/[\w./-]+", text))
    examples = {path for path in paths if re.search(r"(?:^|/|test_)(?:orders|_name)\.", path)}
    assert missing(paths - examples) == []


def anchors(text: str) -> set[str]:
    """The places of a document that can be linked to, as GitHub names them."""
    heads = re.findall(r"^#+ (.*)", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub("[^a-z0-9 _-]", "", head.lower()).replace(" ", "-") for head in heads}


@DOCUMENTS
def test_every_link_leads_somewhere(text: str) -> None:
    lies_in = ROOT / "docs" if text in PAGES.values() or (IS_NEW and text == README) else ROOT
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        file, _, place = link.partition("#")
        found = (lies_in / file).resolve() if file else None
        assert found is None or found.exists(), link
        if place and (found is None or found.suffix == ".md"):
            assert place in anchors(found.read_text(encoding="utf-8") if found else text), link


@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_longer_than_300_lines(page: str) -> None:
    assert PAGES[page].count("\n") <= 300


def test_the_readme_is_read_in_ten_minutes() -> None:
    assert README.count("\n") <= 250


@pytest.fixture(scope="module")
def offices() -> Tool[..., Any]:
    """The tool that the README shows, made from its very lines."""
    module = ModuleType("offices")
    exec(compile(code_after("Write `lambda/my_agent/tools/offices.py`"), "README.md", "exec"), module.__dict__)
    [made] = [each for each in vars(module).values() if isinstance(each, Tool)]
    return made


def test_the_tool_of_the_readme_has_the_spec_that_is_shown(offices: Tool[..., Any]) -> None:
    assert json.loads(code_after("The model reads the name, the docstring", TOOLS)) == offices.spec["toolSpec"]
    judge_spec(offices.spec)


def test_the_tool_of_the_readme_answers_a_call(offices: Tool[..., Any]) -> None:
    assert Toolbox([offices], ToolLimits()).specs == [offices.spec]
    found, unknown = run_tools([offices], *(use(city, offices.name, {"city": city}) for city in ("Osaka", "Kyoto")))
    assert (found.status, found.result["toolResult"]["content"]) == ("success", [{"text": "06-1234-5678"}])
    assert unknown.status == "error"


def test_the_tool_of_the_readme_takes_ten_lines() -> None:
    file = code_after("Write `lambda/my_agent/tools/offices.py`")
    assert len([line for line in file.splitlines() if line.strip()]) <= 10


def test_every_dependency_has_its_reason() -> None:
    lists = [*(ROOT / "requirements").glob("*.in"), *(ROOT / "lambda/agent/tools").glob("*.in")]
    files = [path.read_text(encoding="utf-8") for path in lists]
    wanted = {line.strip() for line in "\n".join(files).splitlines() if line.strip() and line[0] not in "#-"}
    told = {name: row for name, row in table(CONTRIBUTING, "package").items() if not name.startswith("**")}
    assert told.keys() == wanted
    assert all(row[0] for row in told.values())
