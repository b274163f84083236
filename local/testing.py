"""The pytest fixture `agent`: the real function on this machine, with a model that says what the test says.

docs/testing.md shows a test. Import the fixture in a conftest.py: `from local.testing import agent, agent_choices`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from local.approving import Verdict, decision_id
from local.bedrock.reply import Reply, error_reply
from local.bedrock.script import ScriptedModel
from local.bedrock.server import BedrockServer
from local.function import importable
from local.screen import describe_failure, failed
from local.stack import Choices, Stack, local_stack
from local.trajectory import ToolStep, trajectory

if TYPE_CHECKING:
    from agent.ports import StoredTurn

Said = dict[str, Any]
"""A reply of the model, as an entry of a script (see docs/testing.md)."""


def says(text: str) -> Said:
    """The model answers with a text."""
    return {"text": text}


def uses(tool_name: str, /, **given: Any) -> Said:
    """The model asks for a tool with this input."""
    return {"tool_use": {"name": tool_name, "input": given}}


def together(*replies: Said) -> Said:
    """The model asks for several tools at once, each as `uses` gives it."""
    return {"tool_use": [each["tool_use"] for each in replies]}


def fails(exception: str) -> Said:
    """The model is not to be had: an error of Bedrock's, such as ThrottlingException."""
    return {"error": exception}


class FailedError(AssertionError):
    """The function failed where the test expects an answer. `result` is its error, as Lambda or the caller would get it."""

    def __init__(self, result: Any) -> None:
        super().__init__(describe_failure(result))
        self.result = result


class Agent:
    """The function, a model to be told what to say, and what came of both. `session_id` is the session last asked."""

    def __init__(self, stack: Stack, model: "_Model", server: BedrockServer) -> None:
        self.session_id = "test"
        self._stack = stack
        self._model = model
        self._server = server
        self._waiting: list[dict[str, Any]] = []

    def model(self, *replies: Said) -> None:
        """The model says these, after what it is to say already. Raises ScriptError for what can't be played."""
        self._model.add(replies)

    def ask(self, question: str, *replies: Said, session_id: str = "") -> dict[str, Any]:
        """The answer to a question, for which the model says these replies in order. Raises FailedError."""
        self.session_id = session_id or self.session_id
        return self._answer({"question": question, "session_id": self.session_id}, replies)

    def approve(self, *replies: Said) -> dict[str, Any]:
        """The answer after a yes to all that the last answer waits for. Raises FailedError."""
        return self.decide({decision_id(each): True for each in self._waiting}, *replies)

    def deny(self, reason: str, *replies: Said) -> dict[str, Any]:
        """The answer after a no to all that the last answer waits for. Raises FailedError."""
        verdict = {"approved": False, "reason": reason}
        return self.decide({decision_id(each): verdict for each in self._waiting}, *replies)

    def decide(self, verdicts: dict[str, Verdict], *replies: Said) -> dict[str, Any]:
        """The answer after these decisions, by the ids in the `approvals` of the answer. Raises FailedError."""
        return self._answer({"session_id": self.session_id, "approvals": verdicts}, replies)

    def invoke(self, event: Any) -> Any:
        """What an event comes to, of HTTP too: the function's result, or Lambda's error object."""
        return self._stack.invoke(event)[0]

    @property
    def session(self) -> "list[StoredTurn]":
        """The stored turns of the session, oldest first."""
        with importable():
            from agent.adapters.dynamodb.items import from_item

            return [from_item(item) for item in self._stack.sessions.items(self.session_id)]

    @property
    def steps(self) -> list[ToolStep]:
        """The tool uses of the last stored turn: name, input, status, and what the tool gave."""
        return trajectory(self.session[-1].messages or []) if self.session else []

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What the model was sent, as Converse has it, oldest first."""
        return [request.body for request in self._server.requests]

    def _answer(self, event: dict[str, Any], replies: tuple[Said, ...]) -> dict[str, Any]:
        self.model(*replies)
        result, succeeded = self._stack.invoke(event)
        if failed(result, succeeded):
            raise FailedError(result)
        self._waiting = result.get("approvals", [])
        answer: dict[str, Any] = result
        return answer


class _Model:
    """The model behind the stand-in: it says what the test says, and no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scripts: list[ScriptedModel] = []

    def add(self, replies: tuple[Said, ...]) -> None:
        with self._lock:
            self._scripts.append(ScriptedModel(replies))

    def __call__(self, model_id: str, request: dict[str, Any]) -> Reply:
        with self._lock:
            script = next((script for script in self._scripts if script.left), None)
            if script:
                return script(model_id, request)
        return error_reply("ValidationException", message="the test gives the model nothing more to say")


@contextmanager
def running(choices: Choices) -> Iterator[Agent]:
    """The agent, within the context. Raises ProblemError for choices that can't be."""
    model = _Model()
    with BedrockServer(model) as server, local_stack(choices, model_server=server) as stack:
        yield Agent(stack, model, server)


@pytest.fixture
def agent_choices() -> Choices:
    """What the agent is started with; a test module that wants other settings overrides this fixture."""
    return Choices()


@pytest.fixture
def agent(agent_choices: Choices) -> Iterator[Agent]:
    """The agent of lambda/, started from cdk.json."""
    with running(agent_choices) as started:
        yield started
