"""A session table in moto, and stores over it; a client that fails when it is told to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from moto import mock_aws
from msgspec.structs import replace

from agent.adapters.dynamodb.store import DynamoDBStore
from agent.aws.errors import ServiceError, TimedOutError
from agent.deadline import Deadline
from agent.ports import DONE, RUNNING, SessionStore, StoredTurn
from local.session_table import create_table
from tests.agent.edge.whole_function import TABLE
from tests.fakes import FakeClock

NOW = 1_800_000_000.0
_FOR_EVER = 1_000  # calls of one test
_LONGEST = 1.4  # seconds that the client waits for DynamoDB


@contextmanager
def moto_table() -> Iterator[Any]:
    """A low-level client of a DynamoDB that has the session table."""
    with mock_aws():
        client: Any = botocore.session.get_session().create_client("dynamodb")
        create_table(client, TABLE)
        yield client


def running_turn(key: str, number: int = 1, lease: str = "mine", **changes: Any) -> StoredTurn:
    """A turn as it is reserved, with a minute of lease."""
    turn = StoredTurn(
        key=key,
        turn=number,
        status=RUNNING,
        request_id=f"r{number}",
        question=f"question {number}",
        created_at="2027-01-15T08:00:00.000+00:00",
        lease_id=lease,
        lease_until=round((NOW + 60) * 1000),
        expires_at=int(NOW) + 86_400,
    )
    return replace(turn, **changes)


def done_turn(key: str, number: int, **changes: Any) -> StoredTurn:
    """The same turn with its answer."""
    turn = running_turn(key, number, lease=f"lease {number}")
    answer = f"answer {number}"
    messages: list[Any] = [
        {"role": "user", "content": [{"text": turn.question}]},
        {"role": "assistant", "content": [{"text": answer}]},
    ]
    usage = {"input_tokens": 1}
    response = {"answer": answer, "turn": number, "usage": usage}
    return replace(turn, status=DONE, messages=messages, response=response, usage=usage, **changes)


def store_turn(store: SessionStore, turn: StoredTurn) -> None:
    """Writes a turn as the function does: reserved, then saved."""
    store.reserve(replace(turn, status=RUNNING, messages=None, response=None, usage={}), None, NOW, Deadline.after(10))
    if turn.status != RUNNING:
        store.save(turn, Deadline.after(10))


class FailingClient:
    """The signed client's one call, made by botocore; calls are noted, and fail where it is told so.

    `before` and `after` take an operation, as botocore's method is called, and its count (from 1), and give an error or
    None: `before` has the call fail unmade, `after` has it made and its answer lost. An operation in `hanging` takes all the
    time that a call has, on its clock. A caller that never ends is ended.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.hanging: dict[str, FakeClock] = {}
        self.before: Callable[[str, int], BaseException | None] = lambda operation, count: None
        self.after: Callable[[str, int], BaseException | None] = lambda operation, count: None

    def call(self, operation: str, parameters: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        name = xform_name(operation)
        self.calls.append((name, parameters))
        if len(self.calls) > _FOR_EVER:
            pytest.fail(f"it goes on for ever: {self.operations[-6:]}")
        count = self.count(name)
        if deadline.left() <= 0:
            raise TimedOutError("the time ended before the answer came")
        if name in self.hanging:
            self.hanging[name].advance(min(_LONGEST, deadline.left()))
            raise TimedOutError("the time ended before the answer came")
        if error := self.before(name, count):
            raise error
        try:
            answer = getattr(self._client, name)(**parameters)
        except ClientError as refused:
            told: dict[str, Any] = {**refused.response}
            status = told["ResponseMetadata"]["HTTPStatusCode"]
            raise ServiceError(status, told["Error"]["Code"], told["Error"]["Message"], answer=told) from refused
        if error := self.after(name, count):
            raise error
        del answer["ResponseMetadata"]
        return {**answer}

    def count(self, operation: str) -> int:
        return sum(each == operation for each, _ in self.calls)

    @property
    def operations(self) -> list[str]:
        return [operation for operation, _ in self.calls]


def store_over(client: FailingClient) -> DynamoDBStore:
    return DynamoDBStore(client, TABLE)
