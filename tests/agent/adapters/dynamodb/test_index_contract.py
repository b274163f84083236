"""What every index of what waits must do: the fake and DynamoDB alike."""

import itertools
from collections.abc import Iterator
from typing import Protocol

import pytest
from msgspec.structs import replace

from agent.adapters.dynamodb.index import DynamoDBIndex
from agent.adapters.dynamodb.store import DynamoDBStore
from agent.errors import InvalidRequestError, MisconfiguredError, StorageUnavailableError
from agent.ports import DONE, WAITING, IndexKey, SessionStore, StoredTurn, WaitingIndex
from tests.agent.adapters.dynamodb.tables import FailingClient, done_turn, moto_table, store_turn
from tests.agent.edge.desk import FAULTS, refused
from tests.agent.edge.whole_function import TABLE
from tests.fakes import FakeClock, FakeStore

SOON = FakeClock().deadline(60)
_serial = itertools.count(1)


class Kept(Protocol):
    """A store with its index."""

    store: SessionStore
    index: WaitingIndex


class Both:
    def __init__(self, store: SessionStore, index: WaitingIndex) -> None:
        self.store, self.index = store, index


@pytest.fixture(scope="module")
def client() -> Iterator[FailingClient]:
    with moto_table() as table:
        yield FailingClient(table)


@pytest.fixture(params=["fake", "dynamodb"])
def kept(request: pytest.FixtureRequest) -> Kept:
    if request.param == "fake":
        store = FakeStore()
        return Both(store, store)
    client = request.getfixturevalue("client")
    return Both(DynamoDBStore(client, TABLE), DynamoDBIndex(client, TABLE))


@pytest.fixture
def caller() -> str:
    return f"caller{next(_serial)}"


def wait(kept: Kept, caller: str, number: int, turn: int = 1) -> StoredTurn:
    """A turn that waits, since a later time for a larger number."""
    since = f"2027-01-01T00:{number // 60:02}:{number % 60:02}Z"
    key = f"{caller}#s{number:03}"
    made = replace(done_turn(key, turn), status=WAITING, random="5" * 32, waiting=caller, waiting_since=since)
    store_turn(kept.store, made)
    return made


def test_a_callers_entries_come_oldest_first_and_none_of_others(kept: Kept, caller: str) -> None:
    for number in (3, 1, 2):
        wait(kept, caller, number)
    wait(kept, caller + "-other", 0)
    keys, following = kept.index.page(caller, None, SOON)
    assert [key.session_id for key in keys] == [f"{caller}#s{number:03}" for number in (1, 2, 3)]
    assert (following, {key.waiting for key in keys}, {key.turn for key in keys}) == (None, {caller}, {1})
    again, _ = kept.index.page(caller, keys[0], SOON)
    assert again == keys[1:]


def test_a_page_holds_fifty_entries_and_says_where_the_next_begins(kept: Kept, caller: str) -> None:
    for number in range(55):
        wait(kept, caller, number)
    first, following = kept.index.page(caller, None, SOON)
    assert (len(first), following) == (50, first[-1])
    second, following = kept.index.page(caller, following, SOON)
    assert (len(second), following) == (5, None)
    assert len({key.session_id for key in first + second}) == 55


def test_all_callers_are_found_without_naming_one(kept: Kept, caller: str) -> None:
    names = [f"{caller}-{number}" for number in range(3)]
    for number, name in enumerate(names):
        wait(kept, name, number)
    found: list[IndexKey] = []
    keys, following = kept.index.page("", None, SOON)
    found += keys
    while following:
        keys, following = kept.index.page("", following, SOON)
        found += keys
    assert {key.waiting for key in found} >= set(names)
    assert len({(key.session_id, key.turn) for key in found}) == len(found)


def test_what_waits_no_more_is_no_entry(kept: Kept, caller: str) -> None:
    turn = wait(kept, caller, 1)
    kept.store.lease(replace(turn, waiting=""), turn, 0, SOON)
    assert kept.index.page(caller, None, SOON) == ([], None)


def test_a_turn_is_read_whole_with_the_one_after_it(kept: Kept, caller: str) -> None:
    waiting = wait(kept, caller, 1, turn=2)
    for number in (1, 3, 4):
        store_turn(kept.store, done_turn(waiting.key, number))
    found = kept.index.turn_and_next(waiting.key, 2, SOON)
    assert [(turn.turn, turn.status) for turn in found] == [(3, DONE), (2, WAITING)]
    assert found[1] == kept.store.get(waiting.key, 2, SOON)
    assert kept.index.turn_and_next(waiting.key, 9, SOON) == []


AFTER = IndexKey("a#s", 1, "a", "2027")


@pytest.mark.parametrize(("after", "error"), [(AFTER, InvalidRequestError), (None, MisconfiguredError)])
def test_a_page_that_dynamodb_finds_invalid_is_of_a_wrong_place_or_a_table_without_the_index(
    client: FailingClient, after: IndexKey | None, error: type[Exception]
) -> None:
    client.before = lambda operation, count: refused("ValidationException")
    try:
        with pytest.raises(error):
            DynamoDBIndex(client, TABLE).page("a", after, SOON)
    finally:
        client.before = lambda operation, count: None


def test_a_page_that_can_not_be_read_is_tried_again_and_then_told(client: FailingClient) -> None:
    index, before = DynamoDBIndex(client, TABLE), client.count("query")
    client.before = lambda operation, count: FAULTS[-1]
    try:
        with pytest.raises(StorageUnavailableError):
            index.page("a", None, SOON)
        assert client.count("query") == before + 3
    finally:
        client.before = lambda operation, count: None
