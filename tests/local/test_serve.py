"""The function behind HTTP, through the command's own code."""

import io
import json
import signal
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.edge.callers import caller_of
from local.function import LAMBDA
from local.gateway import Gateway
from local.problem import ProblemError
from local.remote import Remote
from local.screen import Screen
from local.serve import serve
from local.stack import Choices, local_stack


def post(url: str) -> str:
    request = urllib.request.Request(f"{url}/chat", b'{"a":1}', {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return str(response.read().decode())


def test_the_function_answers_over_http_until_interrupted(choices: Choices, tmp_path: Path) -> None:
    shown = io.StringIO()
    answers: list[str] = []

    def use(url: str) -> None:
        answers.append(post(url))
        raise KeyboardInterrupt

    with local_stack(replace(choices, keep=tmp_path / "kept.json")) as stack:
        assert serve(stack, Screen(shown), 0, [], use) == 0
    assert answers == ['{"a":1}']
    assert "POST /chat  200" in shown.getvalue()
    assert (tmp_path / "kept.json").exists()


def test_sigterm_ends_it_like_ctrl_c(choices: Choices) -> None:
    with local_stack(choices) as stack:
        assert serve(stack, Screen(io.StringIO()), 0, [], lambda _: signal.raise_signal(signal.SIGTERM)) == 0
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_taken_port_is_told(choices: Choices) -> None:
    with local_stack(choices) as stack, Gateway(stack.function.invoke) as other:
        port = int(other.url.rpartition(":")[2])
        with pytest.raises(ProblemError, match=f"Port {port} can't be served: it is in use"):
            serve(stack, Screen(io.StringIO()), port, [], lambda _: None)


def asked(url: str, *, method: str = "POST", path: str = "/chat", **headers: str) -> int:
    body = b'{"a":1}' if method == "POST" else None
    headers |= {"Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url + path, body, headers, method=method), timeout=10
        ) as got:
            return int(got.status)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code


def test_who_calls_comes_from_a_header_and_is_told_as_the_function_names_it(choices: Choices) -> None:
    shown = io.StringIO()

    def use(url: str) -> None:
        assert [asked(url, **{"X-Caller": name}) for name in ("bob", "alice", "bob", " ")] == [200] * 4

    with local_stack(choices) as stack:
        events: list[dict[str, Any]] = []
        serve(replace(stack, function=Recording(events)), Screen(shown), 0, [], use)  # type: ignore[arg-type]
    authorizers = [event["requestContext"]["authorizer"] for event in events]
    assert authorizers == [{"lambda": {"principalId": name}} for name in ("bob", "alice", "bob")] + [{}]
    bob, alice = (caller_of({"authorizer": each}, "session") for each in authorizers[:2])
    told = [line for line in shown.getvalue().splitlines() if line.startswith("The caller")]
    assert told == [
        f"The caller {name} is {hash_} in APPROVERS and in the log." for name, hash_ in (("bob", bob), ("alice", alice))
    ]


class Recording:
    """A function that answers with a status of 200 and keeps the events."""

    timeout_seconds = 30.0

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self._events = events

    def invoke(self, event: dict[str, Any], on_chunk: Any = None) -> tuple[Any, bool]:
        self._events.append(event)
        return {"statusCode": 200}, True


def test_options_on_a_route_are_the_functions_to_answer(choices: Choices) -> None:
    def use(url: str) -> None:
        paths = ("/chat", "/sessions/s", "/sessions/s/approvals", "/health", "/nowhere")
        assert [asked(url, method="OPTIONS", path=path) for path in paths] == [204, 204, 204, 204, 404]

    with local_stack(replace(choices, root=LAMBDA)) as stack:
        assert serve(stack, Screen(io.StringIO()), 0, [], use) == 0


def test_a_function_that_is_served_can_be_asked_and_told_a_yes(choices: Choices, tmp_path: Path) -> None:
    replies = [
        {
            "tool_use": {
                "name": "refund_order",
                "input": {"order_id": "A-1001", "amount": 1, "reason": "Late."},
                "id": "r",
            }
        },
        {"text": "Paid back."},
    ]
    (tmp_path / "script.json").write_text(json.dumps(replies))

    def use(url: str) -> None:
        bob, alice = Remote(url, "bob"), Remote(f"{url}/", "alice")
        answer, succeeded = bob.invoke({"question": "pay", "session_id": "s:1"})
        assert (answer["stop_reason"], succeeded) == ("awaiting_approval", True)
        [waits] = answer["approvals"]
        verdict = {"session_id": "s:1", "approvals": {waits.get("approval_id", waits["tool_use_id"]): True}}
        refused, succeeded = alice.invoke(verdict)
        assert (refused["error"]["code"], succeeded) == ("not_found", False)
        assert bob.invoke(verdict)[0]["answer"] == "Paid back."

    with local_stack(
        replace(choices, root=LAMBDA, script=tmp_path / "script.json", settings={"TOOLS": "tickets"})
    ) as stack:
        assert serve(stack, Screen(io.StringIO()), 0, [], use) == 0
