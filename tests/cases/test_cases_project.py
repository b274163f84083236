"""The repository itself: names that collide, code that evaluates text, tests that reach out, deployments that need more."""

import ast
import itertools
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.tooling.offered import load_tools
from local.bedrock.reply import Reply
from local.offline import model as offline
from tests.agent.edge.whole_function import TRIAL, Whole, unique
from tests.cases.functions import offering

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "lambda").rglob("*.py"))
# These reach outside: tools where someone chose them, and the engine's own ways to AWS and Lambda.
REACHING = {"shell", "tickets", "web_search", "aws/connection", "aws/transport", "adapters/runtime", "adapters/traces"}
SOURCES = [*SHIPPED, *sorted((ROOT / "local").rglob("*.py")), *sorted((ROOT / "infra").glob("*.py"))]
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def calls(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {node.id for node in named if isinstance(node, ast.Name)} | {
        f"{node.value.id}.{node.attr}"
        for node in named
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }


def imports(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    return plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_is_ever_run_as_code_or_as_a_command(path: Path) -> None:
    assert not calls(path) & {
        "eval",
        "exec",
        "compile",
        "__import__",
        "os.system",
        "os.popen",
        "pickle.loads",
        "yaml.load",
    }
    assert not imports(path) & {"pickle", "marshal", "shelve", "sympy"}
    assert "shell=True" not in path.read_text(encoding="utf-8")
    if path in SHIPPED and not REACHING & {path.stem, f"{path.parent.name}/{path.stem}"}:
        assert not imports(path) & {"subprocess", "ctypes", "socket", "urllib.request", "http.client"}


BOMBS = [
    "9**9**9",
    "10**10**8",
    "2**(2**40)",
    "1<<10**9",
    "factorial(10**7)",
    "__import__('os').system('touch MARKER')",
    "open('MARKER', 'w')",
    "(lambda: 1)()",
    "[x for x in range(10**9)]",
    "().__class__.__bases__[0].__subclasses__()",
    "(" * 100_000 + "1" + ")" * 100_000,
    "sin(" * 10_000 + "1" + ")" * 10_000,
    "9" * 5_000 + " / 3",
    "1e400 / 1e-400",
]


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb[:20])
def test_a_calculation_that_would_never_end_or_do_harm_is_answered_at_once(
    whole: Whole, bomb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole.answer_with(offline.answer)
    began = time.monotonic()
    answer = whole.direct(f"What is {bomb}?"[:100_000], session_id=unique())
    assert answer["answer"].strip()
    assert time.monotonic() - began < 10
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def calculating(whole: Whole) -> Iterator[Whole]:
    with offering(whole, *load_tools(("*", "calculator"), TRIAL)) as function:
        yield function


@pytest.mark.parametrize("bomb", BOMBS[:-1], ids=lambda bomb: bomb[:20])
def test_a_tool_that_is_given_such_a_text_refuses_it_at_once(calculating: Whole, bomb: str) -> None:
    uses = [
        {"name": "sine", "input": {"x": bomb}},
        {"name": "divide_numbers", "input": {"x": 1, "y": 1e-320}},
        {"name": "calculate", "input": {"formula": bomb}},
    ]
    calculating.play({"tool_use": uses}, {"text": "no"})
    began = time.monotonic()
    answer = calculating.direct(session_id=unique())
    assert [each["status"] for each in answer["tool_uses"]] == ["error"] * 3
    assert time.monotonic() - began < 5


def test_what_lies_at_the_bundles_root_shadows_no_standard_module() -> None:
    names = {path.stem for path in (ROOT / "lambda").iterdir() if path.stem != "__pycache__"}
    assert names == {"handler", "agent", "my_agent"}
    assert not names & sys.stdlib_module_names


def test_nothing_is_imported_by_the_name_of_the_folder() -> None:
    assert not [path for path in (*SOURCES, *TESTS) if {name.split(".")[0] for name in imports(path)} & {"lambda"}]
    assert not (ROOT / "lambda" / "__init__.py").exists()


def test_what_is_deployed_loads_no_sdk_but_for_a_laptops_credentials() -> None:
    loading = {path for path in SHIPPED if {"boto3", "botocore"} & {name.split(".")[0] for name in imports(path)}}
    assert loading == {ROOT / "lambda" / "agent" / "aws" / "credentials.py"}


def test_no_test_mocks_the_table_or_the_model_away() -> None:
    mocked = re.compile(r"MagicMock|Mock\(|create_autospec|Stubber|mock\.patch\((?!\.dict)")
    others = [path for path in TESTS if path != Path(__file__)]
    assert not [path for path in others if mocked.search(path.read_text(encoding="utf-8"))]


def test_a_developers_profile_and_endpoints_are_never_used() -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        "AWS_PROFILE": "bogus",
        "AWS_ENDPOINT_URL": "http://192.0.2.1",
        "AWS_REGION": "",
        "HTTPS_PROXY": "http://192.0.2.1",
    }
    test = "tests/agent/edge/test_edge_direct_events.py::test_an_answer_has_what_the_contract_names"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout


def test_a_deployment_asks_for_no_docker() -> None:
    asking = re.compile(r"\bDockerImage|BundlingOptions|docker (run|build)|from_docker")
    assert not [path for path in SOURCES if asking.search(path.read_text(encoding="utf-8"))]


def test_the_model_that_is_scripted_answers_by_request_and_not_by_order(whole: Whole) -> None:
    def by_request(model_id: str, request: dict[str, object]) -> Reply:
        return Reply([{"text": str(request["messages"])[-30:]}])

    whole.answer_with(by_request)
    asked = [f"question {number}" for number in range(5)]
    for order in itertools.islice(itertools.permutations(asked), 0, 120, 40):
        for question in order:
            assert question in whole.direct(question, session_id=unique())["answer"]
