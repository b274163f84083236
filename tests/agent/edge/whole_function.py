"""The whole function on this machine: handler.start, moto's DynamoDB, and the Bedrock stand-in with a model to choose."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard
from unittest import mock

import botocore.session
from moto import mock_aws

from agent.edge.function import Function
from agent.errors import AgentError
from handler import start
from local.aws_server import AWSServer
from local.bedrock.reply import Model, Reply, text_reply
from local.bedrock.script import ScriptedModel
from local.bedrock.server import BedrockServer, RecordedRequest
from local.runtime_api import Invocation, Outcome, RuntimeApi
from local.session_table import create_table
from tests.agent.edge.gateway_events import checked, events_of
from tests.fakes import CLAUDE, FakeContext

TABLE = "sessions"
# an agent of the tests' own: what the user's folder holds is not the engine's to know
TRIAL = Path(__file__).parents[2] / "own" / "trial"
ENVIRONMENT = {"MODEL_ID": CLAUDE, "TABLE_NAME": TABLE}
_serial = itertools.count(1)


def unique(name: str = "s") -> str:
    """An id that no other test uses."""
    return f"{name}-{next(_serial)}"


@dataclass
class Whole:
    """A function with all that it talks to. `dynamodb` is a client of the test's own."""

    function: Function
    server: BedrockServer
    dynamodb: Any
    _model: list[Model] = field(default_factory=list)
    runtime: RuntimeApi | None = None
    streams: bool = False
    _seen: int = 0

    def play(self, *entries: dict[str, Any] | Reply) -> ScriptedModel:
        """Has the model answer these, in order."""
        script = ScriptedModel(list(entries))
        self._model[:] = [script]
        return script

    def answer_with(self, model: Callable[[str, dict[str, Any]], Reply]) -> None:
        """Has a function be the model."""
        self._model[:] = [model]

    def begin(self) -> None:
        """Forgets what was sent before; the model answers `Fine.` to everything."""
        self._model[:] = [lambda model_id, request: text_reply("Fine.")]
        self._seen = len(self.server.requests)

    @property
    def requests(self) -> list[RecordedRequest]:
        """What the model was sent in this test."""
        return self.server.requests[self._seen :]

    def ask(self, event: object, context: Any = None) -> tuple[Any, AgentError | None]:
        """What the function answers, or would raise."""
        context = context or FakeContext(unique("invocation"))
        if not (self.streams and self.runtime):
            return self.function.answer(event, context)
        invocation = Invocation(b"", 0, request_id=context.aws_request_id)
        self.runtime.expect(invocation)
        streaming = {**event, "stream": True} if is_for_a_turn(event) else None
        answer, error = self.function.answer(streaming or event, context)
        if self.runtime.take(context.aws_request_id):
            return answer, error
        assert (answer, error) == (None, None)
        outcome = invocation.outcome.result(10)
        return _end_of(outcome) if streaming else (invocation.whole()[0], None)  # a REST API's answer is streamed, too

    def http(self, event: object) -> dict[str, Any]:
        """The response to an HTTP event, whose shape every gateway takes."""
        response, error = self.ask(event)
        assert error is None
        return checked(response)

    def direct(self, question: str = "hi", *, context: Any = None, **ids: Any) -> dict[str, Any]:
        """The answer to a direct question. Raises what the function would."""
        answer, error = self.ask({"question": question, **ids}, context)
        if error:
            raise error
        assert isinstance(answer, dict)
        return answer

    def items(self, key: str) -> list[dict[str, Any]]:
        """The items of a session, oldest first."""
        values = {":key": {"S": key}}
        found = self.dynamodb.query(
            TableName=TABLE, KeyConditionExpression="session_id = :key", ExpressionAttributeValues=values
        )
        return list(found["Items"])

    def put(self, key: str, turn: object = 1, **attributes: dict[str, Any]) -> None:
        """Writes an item by hand."""
        item = {"session_id": {"S": key}, "turn": {"N": str(turn)}, **attributes}
        self.dynamodb.put_item(TableName=TABLE, Item=item)


def is_for_a_turn(event: object) -> TypeGuard[dict[str, Any]]:
    """Whether it is a direct question or yes, which may be answered by events."""
    if not isinstance(event, dict) or {"requestContext", "httpMethod", "stream", "warmer"} & event.keys():
        return False
    return bool({"question", "approvals"} & event.keys())


def _end_of(outcome: Outcome) -> tuple[Any, AgentError | None]:
    """What a stream ended with: the answer, or an error of that code. What was shown of the last step is in the answer."""
    body, succeeded = outcome
    assert succeeded
    found = events_of(body.encode())
    name, told = found[-1]
    assert [each for each, _ in found if each in ("start", "answer", "error")] == ["start", name]
    if name == "error":
        error = next(each for each in kinds_of(AgentError) if each.code == told["error"]["code"])
        return None, error(told["error"]["message"])
    shown = ""
    for event, data in found:
        if event == "text" and data["step"] == told["steps"]:
            shown += data["text"]
        if event == "void" and data["step"] == told["steps"]:
            shown = ""
    assert told["answer"].startswith(shown)
    return told, None


def kinds_of(kind: type[AgentError]) -> list[type[AgentError]]:
    """An error's class, and all below it."""
    return [kind, *(each for below in kind.__subclasses__() for each in kinds_of(below))]


@contextmanager
def running(*, streams: bool = False, **environment: str) -> Iterator[Whole]:
    """A function with this environment added to the least one, until the block ends; with `streams` its turns are streamed."""
    model: list[Model] = [lambda model_id, request: text_reply("Fine.")]
    with mock_aws(), AWSServer() as aws, BedrockServer(lambda model_id, request: model[0](model_id, request)) as server:
        dynamodb: Any = botocore.session.get_session().create_client("dynamodb")
        create_table(dynamodb, TABLE)
        runtime = RuntimeApi("arn:aws:lambda:us-east-1:123456789012:function:agent")
        streaming = {"STREAMING": "true", "AWS_LAMBDA_RUNTIME_API": runtime.address} if streams else {}
        try:
            with mock.patch.dict(os.environ, AWS_ENDPOINT_URL_DYNAMODB=aws.url):
                function = function_at(server, **streaming, **environment)
                yield Whole(function, server, dynamodb, model, runtime, streams)
        finally:
            runtime.close()


def function_at(server: BedrockServer, **environment: str) -> Function:
    """A function that has this stand-in for Bedrock."""
    with mock.patch.dict(os.environ, AWS_ENDPOINT_URL_BEDROCK_RUNTIME=server.url):
        return start(least_environment(**environment), TRIAL)


def least_environment(**more: str) -> dict[str, str]:
    """The least environment of a function, with the services of the test, and more."""
    return {**{name: value for name, value in os.environ.items() if name.startswith("AWS_")}, **ENVIRONMENT, **more}
