"""The table of states: which state an item is in, and what each admits."""

import pytest
from msgspec.structs import replace

from agent.messages import Message, user_text
from agent.ports import BLOCKED, DONE, RUNNING, WAITING, StoredTurn
from agent.sessions.states import (
    CLOSED,
    CRASHED,
    EXPIRED,
    OVERTAKEN,
    STATES,
    TAKEN_OVER,
    is_expired,
    state_name,
    state_of,
    with_closed,
)

_NOW = 1_000_000.0


def _turn(status: str, *, lease: float = 0, expires_at: int = 0, messages: list[Message] | None = None) -> StoredTurn:
    lease_until = int((_NOW + lease) * 1000)
    return StoredTurn("s", 1, status, messages=messages, lease_until=lease_until, expires_at=expires_at)


@pytest.mark.parametrize(("expires_at", "expired"), [(0, False), (1, True), (1_000_000, True), (1_000_001, False)])
def test_a_turn_expires_at_its_time_and_never_without_one(expires_at: int, expired: bool) -> None:
    assert is_expired(_turn(DONE, expires_at=expires_at), _NOW) is expired


@pytest.mark.parametrize(
    ("turn", "name"),
    [
        (_turn(RUNNING, lease=1), RUNNING),
        (_turn(RUNNING, lease=900), RUNNING),
        (_turn(RUNNING, lease=900, messages=[user_text("q")]), TAKEN_OVER),
        (_turn(RUNNING, lease=0), CRASHED),
        (_turn(RUNNING, lease=-5), CRASHED),
        (_turn(RUNNING, lease=1, expires_at=1), CRASHED),
        (_turn(RUNNING, lease=10**9), CRASHED),  # no function lives so long: a hand, or a broken clock, wrote it
        (_turn(DONE, lease=-5), DONE),
        (_turn(BLOCKED), BLOCKED),
        (_turn(WAITING), WAITING),
        (_turn(WAITING, lease=1), OVERTAKEN),
        (_turn(WAITING, lease=0), WAITING),
        (_turn(WAITING, lease=10**9), WAITING),
        (_turn(CLOSED, lease=1), CLOSED),
        (_turn(DONE, expires_at=1), EXPIRED),
        (_turn(BLOCKED, expires_at=1), EXPIRED),
        (_turn(WAITING, expires_at=1), EXPIRED),
        (_turn(WAITING, lease=1, expires_at=1), EXPIRED),
        (_turn(CLOSED, expires_at=1), EXPIRED),
        (_turn("nonsense"), EXPIRED),
        (_turn(CRASHED), EXPIRED),
        (_turn(TAKEN_OVER, lease=9), EXPIRED),
    ],
)
def test_a_turns_state_follows_from_its_item_and_the_time(turn: StoredTurn, name: str) -> None:
    assert state_name(turn, _NOW) == name
    assert state_of(turn, _NOW) is STATES[name]


WAITS = replace(_turn(WAITING), random="5" * 32)
WRITTEN = [user_text("q")]


@pytest.mark.parametrize(
    ("later", "closes"),
    [
        (_turn(RUNNING, lease=1), False),
        (_turn(RUNNING), False),
        (_turn(RUNNING, lease=1, messages=WRITTEN), True),
        (_turn(RUNNING, messages=WRITTEN), True),
        (_turn(DONE), True),
        (_turn(BLOCKED), True),
        (WAITS, True),
        (_turn(DONE, expires_at=1), True),  # as long as it is there
        (_turn("nonsense"), False),
    ],
)
def test_what_waited_is_closed_by_a_later_turn_that_left_something(later: StoredTurn, closes: bool) -> None:
    newest, older = with_closed([later, WAITS])
    assert newest == later
    assert older == (replace(WAITS, status=CLOSED) if closes else WAITS)
    assert with_closed([newest, older]) == [newest, older]


def test_what_waits_without_a_random_value_is_closed() -> None:
    assert with_closed([_turn(WAITING)]) == [_turn(CLOSED)]
    assert with_closed([WAITS]) == [WAITS]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("holds", {RUNNING, TAKEN_OVER, OVERTAKEN}),
        ("is_replaced", {CRASHED}),
        ("waits", {WAITING, OVERTAKEN}),
        ("is_decided", {CRASHED, WAITING, CLOSED, DONE, BLOCKED}),
        ("is_shown", {WAITING, OVERTAKEN, CLOSED, DONE, BLOCKED}),
        ("is_pair", {CLOSED, DONE, BLOCKED}),
        ("is_sent", {CLOSED, DONE}),
    ],
)
def test_each_state_admits_what_the_design_says(question: str, names: set[str]) -> None:
    assert {name for name, state in STATES.items() if getattr(state, question)} == names
