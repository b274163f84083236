"""What is DynamoDB's alone: how it is read, what is tried again, what hands have written into the table."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from agent.adapters.dynamodb.store import DynamoDBStore
from agent.aws.errors import ConnectionFailedError, TimedOutError, UnreadableError
from agent.deadline import Deadline
from agent.errors import MisconfiguredError, SessionBusyError, StorageUnavailableError
from agent.ports import DONE, RUNNING
from tests.agent.adapters.dynamodb.tables import (
    NOW,
    FailingClient,
    done_turn,
    moto_table,
    running_turn,
    store_over,
    store_turn,
)
from tests.agent.edge.desk import refused
from tests.agent.edge.whole_function import TABLE

_serial = itertools.count(1)


PASSING: list[Exception] = [
    refused("ProvisionedThroughputExceededException"),
    refused("ThrottlingException"),
    refused("RequestLimitExceeded"),
    refused("InternalServerError", 500),
    refused("ServiceUnavailable", 503),
    ConnectionFailedError("no connection"),
    UnreadableError("no JSON"),
    TimedOutError("no answer"),
]
LASTING = [
    refused("AccessDeniedException"),
    refused("ResourceNotFoundException"),
    refused("UnrecognizedClientException"),
]


def soon() -> Deadline:
    """Time enough for every attempt."""
    return Deadline.after(10)


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    with moto_table() as client:
        yield client


@pytest.fixture
def client(table: Any) -> FailingClient:
    return FailingClient(table)


@pytest.fixture
def store(client: FailingClient) -> DynamoDBStore:
    return store_over(client)


@pytest.fixture
def key() -> str:
    return f"key-{next(_serial)}"


def test_reading_is_consistent_and_newest_first(client: FailingClient, store: DynamoDBStore, key: str) -> None:
    store.load(key, 10, NOW, soon())
    ((operation, parameters),) = client.calls
    assert operation == "query"
    assert parameters["ConsistentRead"] is True
    assert parameters["ScanIndexForward"] is False


def test_reading_stops_where_enough_is_seen(client: FailingClient, store: DynamoDBStore, key: str) -> None:
    for number in range(1, 61):
        store_turn(store, done_turn(key, number))
    client.calls.clear()
    loaded = store.load(key, 2, NOW, soon())
    assert client.operations == ["query"]
    assert len(loaded) < 40


def test_the_ttl_attribute_holds_whole_seconds(table: Any, store: DynamoDBStore, key: str) -> None:
    store.reserve(running_turn(key), None, NOW, soon())
    item = table.get_item(TableName=TABLE, Key={"session_id": {"S": key}, "turn": {"N": "1"}})["Item"]
    assert item["expires_at"] == {"N": str(int(NOW) + 86_400)}


@pytest.mark.parametrize("error", PASSING, ids=lambda error: str(error)[:40])
def test_reading_survives_what_passes(client: FailingClient, store: DynamoDBStore, key: str, error: Exception) -> None:
    store_turn(store, done_turn(key, 1))
    client.before = lambda operation, count: error if operation == "query" and count <= 2 else None
    assert len(store.load(key, 1, NOW, soon())) == 1


@pytest.mark.parametrize("error", PASSING, ids=lambda error: str(error)[:40])
def test_each_call_gives_up_after_a_few_attempts(
    client: FailingClient, store: DynamoDBStore, key: str, error: Exception
) -> None:
    client.before = lambda operation, count: error
    turn = done_turn(key, 1)
    for call in (
        lambda: store.load(key, 1, NOW, soon()),
        lambda: store.reserve(running_turn(key), None, NOW, soon()),
        lambda: store.save(turn, soon()),
        lambda: store.free(turn, soon()),
        lambda: store.trim(key, [1], soon()),
        lambda: store.trim(key, [1, 2], soon()),
        lambda: store.forget(key, NOW, soon()),
    ):
        client.calls.clear()
        with pytest.raises(StorageUnavailableError):
            call()
        assert 1 <= len(client.calls) <= 4
    client.calls.clear()


@pytest.mark.parametrize("error", LASTING, ids=lambda error: str(error)[:40])
def test_what_no_retry_mends_is_tried_once(
    client: FailingClient, store: DynamoDBStore, key: str, error: Exception
) -> None:
    client.before = lambda operation, count: error
    with pytest.raises(MisconfiguredError) as caught:
        store.load(key, 1, NOW, soon())
    assert len(client.calls) == 1
    assert "TABLE_NAME" in caught.value.detail
    assert "AccessDenied" not in caught.value.message


def test_reserving_is_one_attempt(client: FailingClient, store: DynamoDBStore, key: str) -> None:
    client.before = lambda operation, count: refused("InternalServerError", 500)
    with pytest.raises(StorageUnavailableError):
        store.reserve(running_turn(key), None, NOW, soon())
    assert client.operations == ["put_item"]


def test_a_save_whose_answer_was_lost_is_found_to_be_made(
    client: FailingClient, store: DynamoDBStore, key: str
) -> None:
    store.reserve(running_turn(key, lease="lease 1"), None, NOW, soon())
    client.after = lambda operation, count: PASSING[-1] if operation == "update_item" else None
    store.save(done_turn(key, 1), soon())
    assert store.load(key, 1, NOW, soon())[0].status == DONE


def test_a_save_is_read_back_before_it_is_called_lost(client: FailingClient, store: DynamoDBStore, key: str) -> None:
    store.reserve(running_turn(key, lease="lease 1"), None, NOW, soon())
    client.after = lambda operation, count: PASSING[-1] if operation == "update_item" else None
    store.save(done_turn(key, 1), soon())
    assert client.operations[-1] == "get_item"
    assert client.calls[-1][1]["ConsistentRead"] is True


def test_a_save_that_was_never_made_is_called_lost(client: FailingClient, store: DynamoDBStore, key: str) -> None:
    store.reserve(running_turn(key, lease="lease 1"), None, NOW, soon())
    client.before = lambda operation, count: PASSING[-1] if operation == "update_item" else None
    with pytest.raises(StorageUnavailableError):
        store.save(done_turn(key, 1), soon())
    assert store.load(key, 1, NOW, soon())[0].status == RUNNING


def test_a_save_that_is_made_once_and_answered_never_does_not_undo_a_takeover(
    client: FailingClient, store: DynamoDBStore, key: str
) -> None:
    crashed = running_turn(key, lease="lease 1")
    store.reserve(crashed, None, NOW, soon())
    store.reserve(running_turn(key, lease="new"), crashed, NOW + 100, soon())
    client.before = lambda operation, count: PASSING[-1] if operation == "update_item" and count == 1 else None
    with pytest.raises(SessionBusyError):
        store.save(done_turn(key, 1), soon())
    assert store.load(key, 1, NOW, soon())[0].lease_id == "new"


def test_a_trim_of_many_is_one_call(client: FailingClient, store: DynamoDBStore, key: str) -> None:
    store.trim(key, list(range(1, 26)), soon())
    store.trim(key, [1], soon())
    assert client.operations == ["batch_write_item", "delete_item"]


def put(table: Any, key: str, turn: str, **attributes: Any) -> None:
    table.put_item(TableName=TABLE, Item={"session_id": {"S": key}, "turn": {"N": turn}, **attributes})


CRASHED = {"status": {"S": RUNNING}, "lease_until": {"N": "1"}}


@pytest.mark.parametrize(
    ("turn", "attributes"),
    [
        ("1", CRASHED),
        ("1", {**CRASHED, "lease_id": {"N": "5"}}),
        ("1", {**CRASHED, "lease_id": {"S": ""}}),
        ("1", {**CRASHED, "lease_id": {"NULL": True}}),
        ("1", {**CRASHED, "lease_until": {"S": "soon"}, "lease_id": {"S": "x"}}),
        ("1", {**CRASHED, "lease_until": {"N": "9E+125"}, "lease_id": {"S": "x"}}),
        ("2.5", {**CRASHED, "lease_id": {"S": "x"}}),
        ("1", {**CRASHED, "expires_at": {"S": "never"}}),
        ("1E+20", {**CRASHED, "lease_id": {"S": "x"}}),
        ("-3", CRASHED),
        ("0", CRASHED),
        ("0.5", {"status": {"S": DONE}}),
        ("2.5", {"status": {"S": DONE}}),
        ("1", {"status": {"N": "1"}}),
        ("1", {"status": {"S": "strange"}, "messages": {"S": "{"}, "response": {"S": "[]"}}),
        ("1", {}),
    ],
    ids=lambda value: str(value).replace("'", "")[:60],
)
def test_a_session_edited_by_hand_takes_a_new_turn(
    table: Any, store: DynamoDBStore, key: str, turn: str, attributes: dict[str, Any]
) -> None:
    put(table, key, turn, **attributes)
    seen = store.load(key, 3, NOW, soon())
    crashed = seen[0] if seen and seen[0].status == RUNNING else None
    number = crashed.turn if crashed else (seen[0].turn if seen else 0) + 1
    taken = running_turn(key, number, lease="new")
    store.reserve(taken, crashed, NOW, soon())
    store.save(replace(done_turn(key, number), lease_id="new"), soon())
    assert any(each.status == DONE and each.lease_id == "new" for each in store.load(key, 3, NOW, soon()))


@pytest.mark.parametrize("turn", ["0.5", "1.5", "2.5"])
def test_forgetting_a_fractional_turn_ends(client: FailingClient, table: Any, key: str, turn: str) -> None:
    put(table, key, turn, status={"S": DONE})
    store_over(client).forget(key, NOW, soon())
    assert store_over(client).load(key, 3, NOW, soon()) == []


def test_trimming_never_deletes_another_turn_for_a_fractional_one(table: Any, store: DynamoDBStore, key: str) -> None:
    store_turn(store, done_turn(key, 2))
    put(table, key, "2.5", status={"S": DONE}, expires_at={"N": "1"})
    expired = [each.turn for each in store.load(key, 3, NOW, soon()) if each.expires_at == 1]
    if expired:
        store.trim(key, expired, soon())
    assert [each.turn for each in store.load(key, 3, NOW, soon()) if each.lease_id == "lease 2"] == [2]


def test_a_lease_far_in_the_future_is_told_in_whole_seconds(table: Any, store: DynamoDBStore, key: str) -> None:
    put(table, key, "1", status={"S": RUNNING}, lease_until={"N": "9E+125"}, lease_id={"S": "x"})
    with pytest.raises(SessionBusyError) as caught:
        store.reserve(running_turn(key), None, NOW, soon())
    assert isinstance(caught.value.retry_after, int)
