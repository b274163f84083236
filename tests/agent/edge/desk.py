"""A session's turns with a scripted model, over moto's DynamoDB, through a client that can fail."""

import itertools
import logging
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from agent.aws.errors import ConnectionFailedError, ServiceError, TimedOutError
from agent.sessions.leases import Question
from agent.sessions.sessions import Sessions
from agent.tooling.tool import tool
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn.loop import Limits
from tests.agent.adapters.dynamodb.tables import FailingClient, store_over
from tests.agent.edge.whole_function import TABLE
from tests.fakes import FakeClock, FakeJournal, FakeModel, reply

DAY = 86_400
serial = itertools.count(1)
_leases = itertools.count(1)


def refused(code: str, status: int = 400) -> ServiceError:
    return ServiceError(status, code, code)


FAULTS: list[Exception] = [
    refused("ProvisionedThroughputExceededException"),
    refused("InternalServerError", 500),
    refused("ItemCollectionSizeLimitExceededException"),
    ConnectionFailedError("no connection"),
    TimedOutError("no answer"),
]
every_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__ + str(fault)[:40])


@tool
def large(size: Annotated[int, "characters"]) -> str:
    """Returns a long text."""
    return "x" * size


@dataclass
class Desk:
    """A session's turns with a scripted model, over a client that can fail."""

    client: FailingClient
    key: str
    clock: FakeClock
    journal: FakeJournal
    sent: list[str]
    pairs: int = 10
    model: FakeModel | None = None

    def sessions(self, *replies: Any) -> Sessions:
        sent = self.sent

        @tool(side_effects=True)
        def send(to: Annotated[str, "address"]) -> str:
            """Sends a letter."""
            sent.append(to)
            return "sent"

        self.model = FakeModel(replies or [reply("Fine.")])
        return Sessions(
            models=[self.model],
            store=store_over(self.client),
            toolbox=Toolbox([send, large], ToolLimits(result_max_chars=10_000_000)),
            journal=self.journal,
            logger=logging.getLogger("agent"),
            system="Be brief.",
            limits=Limits(),
            pairs=self.pairs,
            ttl_seconds=DAY,
            new_id=lambda: f"lease {next(_leases)}",
            now=self.clock,
        )

    def question(self, text: str = "hi", request: str = "", seconds: float = 60) -> Question:
        request = request or f"r{next(serial)}"
        return Question(self.key, self.key, request, "", text, self.clock.deadline(seconds))

    def ask(self, *replies: Any, text: str = "hi", request: str = "") -> dict[str, Any]:
        return self.sessions(*replies).ask(self.question(text, request))

    def items(self) -> list[dict[str, Any]]:
        values = {":key": {"S": self.key}}
        found = self.client._client.query(
            TableName=TABLE, KeyConditionExpression="session_id = :key", ExpressionAttributeValues=values
        )
        return list(found["Items"])

    def statuses(self) -> list[str]:
        return [item["status"]["S"] for item in self.items()]

    def put(self, turn: int, **attributes: Any) -> None:
        self.client._client.put_item(
            TableName=TABLE, Item={"session_id": {"S": self.key}, "turn": {"N": str(turn)}, **attributes}
        )


def fail(desk: Desk, operation: str, fault: BaseException, *, made: bool = False, times: int = 99) -> None:
    first = desk.client.count(operation)

    def plan(name: str, count: int) -> BaseException | None:
        return fault if name == operation and count <= first + times else None

    if made:
        desk.client.after = plan
    else:
        desk.client.before = plan


def mend(desk: Desk) -> None:
    desk.client.before = desk.client.after = lambda operation, count: None
