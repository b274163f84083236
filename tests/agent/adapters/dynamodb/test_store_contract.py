"""What every SessionStore keeps: run over the fake and over DynamoDB (moto)."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from agent.errors import SessionBusyError
from agent.ports import BLOCKED, DONE, RUNNING, WAITING, SessionStore, StoredTurn
from tests.agent.adapters.dynamodb.tables import (
    NOW,
    FailingClient,
    done_turn,
    moto_table,
    running_turn,
    store_over,
    store_turn,
)
from tests.fakes import FakeClock, FakeStore

_serial = itertools.count(1)
SOON = FakeClock().deadline(60)  # a clock that stands still


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with moto_table() as table:
        yield table


@pytest.fixture(params=["fake", "dynamodb"])
def store(request: pytest.FixtureRequest, client: Any) -> SessionStore:
    return FakeStore() if request.param == "fake" else store_over(FailingClient(client))


@pytest.fixture
def key() -> str:
    return f"key-{next(_serial)}"


def fill(store: SessionStore, key: str, last: int, first: int = 1, **changes: Any) -> None:
    for number in range(first, last + 1):
        store_turn(store, done_turn(key, number, **changes))


def numbers(turns: list[StoredTurn]) -> list[int]:
    return [turn.turn for turn in turns]


def test_nothing_is_kept_of_an_unknown_session(store: SessionStore, key: str) -> None:
    assert store.load(key, 10, NOW, SOON) == []


def test_a_turn_comes_back_as_it_was_saved(store: SessionStore, key: str) -> None:
    turn = done_turn(key, 1)
    store_turn(store, turn)
    assert store.load(key, 10, NOW, SOON, whole=True) == [turn]
    assert store.get(key, 1, SOON) == turn


def test_what_is_not_kept_is_none(store: SessionStore, key: str) -> None:
    store_turn(store, done_turn(key, 1))
    assert store.get(key, 2, SOON) is None
    assert store.get(key + "x", 1, SOON) is None


def test_a_turn_is_loaded_with_all_that_a_new_turn_needs(store: SessionStore, key: str) -> None:
    turn = done_turn(key, 1)
    store_turn(store, turn)
    (loaded,) = store.load(key, 10, NOW, SOON)
    for name in ("key", "turn", "status", "request_id", "messages", "lease_id", "lease_until", "expires_at"):
        assert getattr(loaded, name) == getattr(turn, name), name


def test_a_running_turn_comes_back_as_it_was_reserved(store: SessionStore, key: str) -> None:
    turn = running_turn(key)
    store.reserve(turn, None, NOW, SOON)
    assert store.get(key, 1, SOON) == turn


def test_the_newest_turns_come_first_and_numerically(store: SessionStore, key: str) -> None:
    fill(store, key, 11)
    assert numbers(store.load(key, 100, NOW, SOON)) == list(range(11, 0, -1))
    assert numbers(store.load(key, 3, NOW, SOON))[:3] == [11, 10, 9]


def test_sessions_do_not_mix(store: SessionStore, key: str) -> None:
    fill(store, key, 2)
    fill(store, key + "x", 1)
    store.trim(key, [1], SOON)
    store.forget(key, NOW, SOON)
    assert store.load(key, 10, NOW, SOON) == []
    assert numbers(store.load(key + "x", 10, NOW, SOON)) == [1]


def test_loading_looks_behind_turns_that_do_not_count(store: SessionStore, key: str) -> None:
    fill(store, key, 3)
    fill(store, key, 40, first=4, expires_at=int(NOW) - 1)
    loaded = store.load(key, 2, NOW, SOON)
    assert loaded[0].turn == 40
    assert [turn.turn for turn in loaded if turn.expires_at > NOW][:2] == [3, 2]


@pytest.mark.parametrize("status", [DONE, BLOCKED, WAITING])
def test_every_status_is_kept(store: SessionStore, key: str, status: str) -> None:
    store_turn(store, replace(done_turn(key, 1), status=status))
    assert store.load(key, 1, NOW, SOON)[0].status == status


def test_only_one_of_two_reserves_a_turn(store: SessionStore, key: str) -> None:
    store.reserve(running_turn(key, lease="one"), None, NOW, SOON)
    with pytest.raises(SessionBusyError) as caught:
        store.reserve(running_turn(key, lease="two"), None, NOW + 20, SOON)
    assert caught.value.retry_after == 40
    assert store.load(key, 1, NOW, SOON)[0].lease_id == "one"


def test_a_completed_turn_is_not_reserved_again(store: SessionStore, key: str) -> None:
    store_turn(store, done_turn(key, 1))
    with pytest.raises(SessionBusyError):
        store.reserve(running_turn(key), None, NOW, SOON)
    assert store.load(key, 1, NOW, SOON)[0].status == DONE


def test_a_crashed_turn_is_taken_over(store: SessionStore, key: str) -> None:
    crashed = running_turn(key, lease="crashed")
    store.reserve(crashed, None, NOW, SOON)
    taken = running_turn(key, lease="new", request_id="other", question="another")
    store.reserve(taken, crashed, NOW + 100, SOON)
    assert store.get(key, 1, SOON) == taken


def test_a_takeover_leaves_nothing_of_the_crashed_turn(store: SessionStore, key: str) -> None:
    crashed = running_turn(key, lease="crashed")
    store.reserve(crashed, None, NOW, SOON)
    store.save(replace(crashed, messages=[{"role": "user", "content": [{"text": "old"}]}]), SOON)
    store.reserve(running_turn(key, lease="new"), crashed, NOW + 100, SOON)
    assert store.load(key, 1, NOW, SOON)[0].messages is None


def test_a_takeover_is_of_the_very_turn_that_was_seen(store: SessionStore, key: str) -> None:
    crashed = running_turn(key, lease="crashed")
    store.reserve(crashed, None, NOW, SOON)
    store.reserve(running_turn(key, lease="quicker"), crashed, NOW + 100, SOON)
    with pytest.raises(SessionBusyError):
        store.reserve(running_turn(key, lease="slower"), crashed, NOW + 100, SOON)
    assert store.load(key, 1, NOW, SOON)[0].lease_id == "quicker"


def test_a_turn_that_was_completed_meanwhile_is_not_taken_over(store: SessionStore, key: str) -> None:
    late = running_turn(key, lease="late")
    store.reserve(late, None, NOW, SOON)
    store.save(replace(done_turn(key, 1), lease_id="late"), SOON)
    with pytest.raises(SessionBusyError):
        store.reserve(running_turn(key, lease="new"), late, NOW + 100, SOON)
    assert store.load(key, 1, NOW, SOON)[0].status == DONE


def test_a_turn_that_is_gone_is_not_taken_over(store: SessionStore, key: str) -> None:
    with pytest.raises(SessionBusyError):
        store.reserve(running_turn(key, lease="new"), running_turn(key, lease="crashed"), NOW, SOON)
    assert store.load(key, 1, NOW, SOON) == []


def test_saving_needs_the_lease(store: SessionStore, key: str) -> None:
    crashed = running_turn(key, lease="crashed")
    store.reserve(crashed, None, NOW, SOON)
    store.reserve(running_turn(key, lease="new"), crashed, NOW + 100, SOON)
    with pytest.raises(SessionBusyError):
        store.save(replace(done_turn(key, 1), lease_id="crashed"), SOON)
    assert store.load(key, 1, NOW, SOON)[0].status == RUNNING


def test_saving_does_not_bring_back_a_session_that_was_deleted(store: SessionStore, key: str) -> None:
    turn = running_turn(key)
    store.reserve(turn, None, NOW, SOON)
    store.free(turn, SOON)
    with pytest.raises(SessionBusyError):
        store.save(replace(done_turn(key, 1), lease_id="mine"), SOON)
    assert store.load(key, 1, NOW, SOON) == []


def test_saving_twice_is_saving_once(store: SessionStore, key: str) -> None:
    turn = done_turn(key, 1)
    store_turn(store, turn)
    store.save(turn, SOON)
    assert store.get(key, 1, SOON) == turn


def test_freeing_deletes_only_what_is_held(store: SessionStore, key: str) -> None:
    store.reserve(running_turn(key, lease="another"), None, NOW, SOON)
    with pytest.raises(SessionBusyError):
        store.free(running_turn(key, lease="mine"), SOON)
    assert len(store.load(key, 1, NOW, SOON)) == 1
    store.free(running_turn(key, lease="another"), SOON)
    assert store.load(key, 1, NOW, SOON) == []
    store.free(running_turn(key, lease="another"), SOON)


def waits(store: SessionStore, key: str) -> StoredTurn:
    """A turn that waits, as the store has it."""
    turn = replace(done_turn(key, 1), status=WAITING, random="5" * 32, waiting="direct", waiting_since="2027")
    store_turn(store, replace(turn, lease_until=0))
    found = store.get(key, 1, SOON)
    assert found
    return found


def test_a_lease_is_laid_on_a_turn_and_taken_off_and_nothing_else_is_changed(store: SessionStore, key: str) -> None:
    seen = waits(store, key)
    assert (seen.status, seen.waiting, seen.random, seen.lease_until) == (WAITING, "direct", "5" * 32, 0)
    held = replace(seen, lease_id="theirs", lease_until=round((NOW + 9) * 1000))
    store.lease(held, seen, NOW, SOON)
    assert store.get(key, 1, SOON) == held
    store.lease(replace(held, lease_until=0), held, NOW, SOON)
    assert store.get(key, 1, SOON) == replace(held, lease_until=0)
    store.lease(replace(held, waiting=""), held, NOW, SOON)
    assert store.get(key, 1, SOON) == replace(held, waiting="", waiting_since="")


@pytest.mark.parametrize("changes", [{"lease_id": "another"}, {"status": DONE}, {"turn": 9}])
def test_a_lease_is_laid_on_nothing_but_what_was_seen(store: SessionStore, key: str, changes: dict[str, Any]) -> None:
    seen = waits(store, key)
    held = replace(seen, lease_id="theirs", lease_until=round((NOW + 9) * 1000))
    store.lease(held, seen, NOW, SOON)
    with pytest.raises(SessionBusyError) as caught:
        store.lease(replace(held, **changes), replace(held, **changes), NOW, SOON)
    assert caught.value.retry_after == (1 if "turn" in changes else 9)
    assert [turn.turn for turn in store.load(key, 10, NOW, SOON)] == [1]
    assert store.get(key, 1, SOON) == held


def test_what_waits_is_known_from_what_the_model_needs(store: SessionStore, key: str) -> None:
    seen = waits(store, key)
    (lean,) = store.load(key, 10, NOW, SOON)
    assert (lean.random, lean.waiting, lean.lease_id) == (seen.random, seen.waiting, seen.lease_id)


@pytest.mark.parametrize("count", [1, 2, 25])
def test_trimming_deletes_what_is_named(store: SessionStore, key: str, count: int) -> None:
    fill(store, key, count + 1)
    store.trim(key, list(range(count, 0, -1)), SOON)
    assert numbers(store.load(key, 100, NOW, SOON)) == [count + 1]


def test_trimming_what_is_gone_is_no_error(store: SessionStore, key: str) -> None:
    store.trim(key, [1], SOON)
    store.trim(key, [1, 2], SOON)


def test_forgetting_deletes_everything_however_much(store: SessionStore, key: str) -> None:
    fill(store, key, 57)
    store.forget(key, NOW, SOON)
    assert store.load(key, 100, NOW, SOON) == []
    store.forget(key, NOW, SOON)


def test_forgetting_waits_for_a_running_turn(store: SessionStore, key: str) -> None:
    fill(store, key, 2)
    store.reserve(running_turn(key, 3), None, NOW, SOON)
    with pytest.raises(SessionBusyError) as caught:
        store.forget(key, NOW + 59, SOON)
    assert caught.value.retry_after == 1
    assert numbers(store.load(key, 10, NOW, SOON)) == [3, 2, 1]


def test_forgetting_takes_crashed_expired_and_waiting_turns_along(store: SessionStore, key: str) -> None:
    store_turn(store, done_turn(key, 1, expires_at=int(NOW) - 5))
    store_turn(store, replace(done_turn(key, 2), status=WAITING))
    store.reserve(running_turn(key, 3), None, NOW, SOON)
    store.forget(key, NOW + 61, SOON)
    assert store.load(key, 10, NOW, SOON) == []
