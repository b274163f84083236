"""The description of the HTTP API: made from the code's own lists, and true of what the function answers."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from agent.edge.responses import STATUS
from agent.edge.routes import ROUTES
from local.openapi import document
from local.stack import Choices, Stack, local_stack

ROOT = Path(__file__).parents[2]
FILE = ROOT / "lambda" / "agent" / "edge" / "openapi.json"


def test_the_file_that_is_answered_is_the_one_that_is_made() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "local", "openapi"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert made.stdout == FILE.read_text(encoding="utf-8")


def test_every_route_and_every_error_code_is_described() -> None:
    told = document()
    routes = {f"{method.upper()} {path}" for path, methods in told["paths"].items() for method in methods}
    assert routes == ROUTES.keys()
    assert told["components"]["schemas"]["Error"]["properties"]["error"]["properties"]["code"]["enum"] == sorted(STATUS)


def test_every_schema_is_one() -> None:
    for schema in document()["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def judge(name: str, value: Any) -> list[str]:
    """What of a value is not as the schema of this name says."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": document()["components"]}
    return [error.message for error in Draft202012Validator(schema).iter_errors(value)]


@pytest.fixture(scope="module")
def stack() -> Any:
    with local_stack(
        Choices(settings={"TOOLS": "*,tickets"}, script=ROOT / "docs" / "scripts" / "refund.json")
    ) as stack:
        yield stack


def send(stack: Stack, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    http = {"method": method, "path": path}
    event = {"rawPath": path, "requestContext": {"http": http, "domainName": "x"}, "body": json.dumps(body)}
    answer, succeeded = stack.invoke(event)
    assert succeeded
    return answer["statusCode"], json.loads(answer["body"]) if answer["body"] else None


def test_answers_listings_and_errors_are_as_described(stack: Stack) -> None:
    status, answer = send(stack, "POST", "/chat", {"question": "Pay T-1001 back.", "session_id": "s"})
    assert (status, judge("Answer", answer)) == (200, [])
    assert answer["approvals"]
    status, session = send(stack, "GET", "/sessions/s")
    assert (status, judge("Session", session)) == (200, [])
    assert session["turns"][0]["approvals"]
    status, waiting = send(stack, "GET", "/approvals")
    assert (status, judge("Waiting", waiting)) == (200, [])
    status, error = send(stack, "GET", "/sessions/nothing")
    assert (status, judge("Error", error)) == (404, [])
    assert send(stack, "GET", "/openapi.json") == (200, document())


@pytest.mark.parametrize(
    ("name", "body", "is_valid"),
    [
        ("Question", {"question": "q"}, True),
        ("Question", {"question": " "}, False),
        ("Question", {"question": "q", "session_id": "a b"}, False),
        ("Question", {}, False),
        ("Decisions", {"approvals": {"a" * 32: True}}, True),
        ("Decisions", {"approvals": {"a" * 32: {"approved": False, "reason": "no"}}, "caller": "direct"}, True),
        ("Decisions", {"approvals": {}}, False),
        ("Decisions", {"approvals": {"a" * 32: "yes"}}, False),
        ("Decisions", {"approvals": {"a" * 32: {"reason": "no"}}}, False),
    ],
)
def test_bodies_are_described_as_they_are_taken(stack: Stack, name: str, body: Any, is_valid: bool) -> None:
    assert (judge(name, body) == []) is is_valid
    path = "/chat" if name == "Question" else "/sessions/other/approvals"
    status, _ = send(stack, "POST", path, body)
    assert (status != 400) is is_valid
