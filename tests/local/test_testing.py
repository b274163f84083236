"""The fixture `agent`, on an agent of the tests' own."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.bedrock.script import ScriptError
from local.function import LAMBDA
from local.stack import Choices
from local.testing import Agent, FailedError, fails, says, together, uses
from local.trajectory import ToolStep

SHOP = '''
import os

from agent.errors import ToolError
from agent.tooling.tool import tool


@tool
def order_status(order_id: str) -> dict[str, str]:
    """Look up an order."""
    if order_id != "A-1":
        raise ToolError(f"There is no order {order_id}.")
    return {"order_id": order_id, "status": "sent"}


@tool(needs_approval=True)
def refund_order(order_id: str) -> str:
    """Pay an order back."""
    return f"{order_id} is paid back"
'''


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A function whose user has a shop."""
    root = tmp_path_factory.mktemp("shop") / "lambda"
    shutil.copytree(LAMBDA, root, ignore=shutil.ignore_patterns("my_agent", "__pycache__"))
    (root / "my_agent" / "tools").mkdir(parents=True)
    (root / "my_agent" / "tools" / "shop.py").write_text(SHOP)
    yield root
    for name in ("my_agent.tools.shop", "my_agent.tools", "my_agent"):
        sys.modules.pop(name, None)


@pytest.fixture
def agent_choices(shop: Path) -> Choices:
    return Choices(root=shop, settings={"TOOLS": "*", "MAX_STEPS": "4"})


def test_the_model_says_what_the_test_says(agent: Agent) -> None:
    asked = agent.ask(
        "Where is A-1?",
        together(uses("order_status", order_id="A-1"), uses("order_status", order_id="B")),
        says("Sent."),
    )
    assert (asked["answer"], asked["steps"], asked["session_id"]) == ("Sent.", 2, "test")
    assert agent.steps == [
        ToolStep("order_status", {"order_id": "A-1"}),
        ToolStep("order_status", {"order_id": "B"}, "error"),
    ]
    assert agent.steps[0].result == [{"json": {"order_id": "A-1", "status": "sent"}}]
    assert agent.steps[1].result == [{"text": "There is no order B."}]
    assert [len(request["messages"]) for request in agent.requests] == [1, 3]
    assert {each["toolSpec"]["name"] for each in agent.requests[0]["toolConfig"]["tools"]} == {
        "order_status",
        "refund_order",
    }


@pytest.mark.parametrize(("approved", "status"), [(True, "success"), (False, "error")])
def test_what_waits_is_approved_or_denied(agent: Agent, approved: bool, status: str) -> None:
    asked = agent.ask("Pay A-1 back.", uses("refund_order", order_id="A-1"))
    assert asked["stop_reason"] == "awaiting_approval"
    assert agent.steps == [ToolStep("refund_order", {"order_id": "A-1"}, "")]
    answer = agent.approve(says("Done.")) if approved else agent.deny("Too late.", says("Done."))
    assert answer["answer"] == "Done."
    assert agent.steps[0].status == status
    assert (b"Too late." in repr(agent.steps[0].result).encode()) is not approved
    [turn] = agent.session
    assert (turn.question, turn.status, turn.response and turn.response["answer"]) == ("Pay A-1 back.", "done", "Done.")


def test_sessions_go_on_and_stand_side_by_side(agent: Agent) -> None:
    agent.model(says("One."), says("Two."), says("Three."))
    assert [agent.ask("a")["turn"], agent.ask("b")["turn"], agent.ask("c", session_id="other")["turn"]] == [1, 2, 1]
    assert [turn.question for turn in agent.session] == ["c"]


def test_a_failure_is_raised_with_what_the_caller_would_get(agent: Agent) -> None:
    with pytest.raises(FailedError, match="ModelThrottledError: ") as raised:
        agent.ask("Hello?", *[fails("ThrottlingException")] * 9)
    assert raised.value.result["errorType"] == "ModelThrottledError"


def test_a_model_that_is_asked_for_more_fails_and_says_why(agent: Agent, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FailedError, match="ModelError"):
        agent.ask("Where is A-1?", uses("order_status", order_id="A-1"))
    assert "the test gives the model nothing more to say" in capsys.readouterr().err


def test_what_cannot_be_said_is_told_where_it_is_given(agent: Agent) -> None:
    with pytest.raises(ScriptError, match="Entry 1 has the keys"):
        agent.ask("Hello?", {"say": "hi"})


def test_any_event_can_be_sent(agent: Agent) -> None:
    assert agent.invoke({"nonsense": 1})["error"]["code"] == "invalid_request"
