"""Tokens of a caller by day, in the session table, beside the sessions."""

from collections.abc import Iterator
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent.adapters.dynamodb.meter import DynamoDBMeter
from agent.deadline import Deadline, start
from agent.edge.callers import ANONYMOUS, DIRECT, caller_of, session_key
from agent.edge.requests import checked_id
from agent.errors import AgentError, InvalidRequestError, MisconfiguredError, StorageUnavailableError
from tests.agent.adapters.dynamodb.tables import NOW, FailingClient, moto_table
from tests.agent.edge.desk import refused
from tests.agent.edge.whole_function import TABLE, unique
from tests.approvals.office import Locked

DAY = 86_400
_END_OF_DAY = datetime.fromtimestamp(NOW, UTC).replace(hour=0, minute=0, second=0) + timedelta(days=1)
MIDNIGHT = _END_OF_DAY.timestamp()


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    with moto_table() as client:
        yield client


@pytest.fixture
def meter(table: Any) -> DynamoDBMeter:
    return meter_over(FailingClient(table))


SOON = Deadline.after(86_400)  # from when this is imported


def meter_over(client: FailingClient) -> DynamoDBMeter:
    return DynamoDBMeter(client, TABLE)


def used(meter: DynamoDBMeter, caller: str, now: float = NOW) -> int:
    return meter.used(caller, now, Deadline.after(10))


def test_tokens_add_up_for_each_caller_alone(meter: DynamoDBMeter) -> None:
    one, other = unique(), unique()
    assert used(meter, one) == 0
    meter.add(one, 10, NOW, SOON)
    meter.add(one, 5, NOW + 1, SOON)
    meter.add(other, 1, NOW, SOON)
    assert (used(meter, one), used(meter, other)) == (15, 1)


def test_a_day_begins_at_midnight_utc(meter: DynamoDBMeter) -> None:
    caller = unique()
    meter.add(caller, 10, MIDNIGHT - 1, SOON)
    assert [used(meter, caller, MIDNIGHT + shift) for shift in (-DAY, -1, 0, DAY - 1)] == [10, 10, 0, 0]
    meter.add(caller, 3, MIDNIGHT, SOON)
    assert [used(meter, caller, MIDNIGHT + shift) for shift in (-1, 0)] == [10, 3]


def test_additions_at_once_are_all_counted(table: Any) -> None:
    caller = unique()
    meter = meter_over(FailingClient(Locked(table)))
    threads: list[Future[None]] = [start(lambda: meter.add(caller, 3, NOW, SOON)) for _ in range(20)]
    for thread in threads:
        thread.result(timeout=20)
    assert used(meter, caller) == 60


def test_counting_is_one_addition_that_nobody_can_overwrite(table: Any) -> None:
    client = FailingClient(table)
    meter_over(client).add(unique(), 3, NOW, SOON)
    ((operation, call),) = client.calls
    assert operation == "update_item"
    assert call["UpdateExpression"].startswith("ADD ")


def test_what_is_counted_expires_after_its_day_everywhere(meter: DynamoDBMeter, table: Any) -> None:
    caller = unique()
    meter.add(caller, 3, NOW, SOON)
    (item,) = [each for each in table.scan(TableName=TABLE)["Items"] if caller in each["session_id"]["S"]]
    assert int(item["expires_at"]["N"]) > MIDNIGHT + DAY / 2


@pytest.mark.parametrize("caller", [DIRECT, ANONYMOUS, caller_of({"authorizer": {"principalId": "a"}}, "session")])
def test_its_key_is_one_that_no_session_has(table: Any, caller: str) -> None:
    client = FailingClient(table)
    meter_over(client).add(caller, 1, NOW, SOON)
    key = client.calls[0][1]["Key"]["session_id"]["S"]
    assert key.startswith("#")
    with pytest.raises(InvalidRequestError):
        checked_id(key, "session_id")
    assert not session_key(caller, "x").startswith("#")
    # what an approval may name as somebody else's
    for part in (key, key[1:], "#", "#tokens"):
        with pytest.raises(InvalidRequestError):
            checked_id(part, "caller")


def test_callers_of_every_kind_are_counted_apart(meter: DynamoDBMeter) -> None:
    meter.add(DIRECT, 5, NOW + 10 * DAY, SOON)
    assert used(meter, ANONYMOUS, NOW + 10 * DAY) == 0
    assert used(meter, DIRECT, NOW + 10 * DAY) == 5


@pytest.mark.parametrize("tokens", [{"S": "many"}, {"N": "1.5"}, {"N": "-3"}, {"L": []}, {"N": "9E+100"}])
def test_what_hands_have_written_stops_nobody(meter: DynamoDBMeter, table: Any, tokens: dict[str, Any]) -> None:
    caller = unique()
    meter.add(caller, 3, NOW, SOON)
    (item,) = [each for each in table.scan(TableName=TABLE)["Items"] if caller in each["session_id"]["S"]]
    table.put_item(TableName=TABLE, Item={**item, "tokens": tokens})
    assert used(meter, caller) in (0, 1, int(1e100))


@pytest.mark.parametrize(
    ("fault", "ours"),
    [
        (refused("InternalServerError", 500), StorageUnavailableError),
        (refused("AccessDeniedException"), MisconfiguredError),
    ],
)
def test_a_table_that_fails_is_told_as_ours_and_asked_once_for_each_count(
    table: Any, fault: Exception, ours: type[AgentError]
) -> None:
    client = FailingClient(table)
    client.before = lambda operation, count: fault
    meter = meter_over(client)
    with pytest.raises(ours):
        meter.add("a", 1, NOW, SOON)
    assert client.operations == ["update_item"]  # counting twice is worse than once too few
    with pytest.raises(ours):
        used(meter, "a")
