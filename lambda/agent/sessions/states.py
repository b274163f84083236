"""The states of a turn, and what each admits: the one table, from which the code and its tests read.

An item knows four of them (`status`); the others follow from its lease, its end, what it holds and what came after it.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from agent.ports import BLOCKED, DONE, RUNNING, WAITING, StoredTurn

_KEPT = (DONE, BLOCKED, WAITING)
CLOSED, CRASHED, EXPIRED, OVERTAKEN, TAKEN_OVER = "closed", "crashed", "expired", "overtaken", "taken_over"
_LONGEST_LEASE_SECONDS = 15 * 60 + 30  # Lambda's longest time-out, 5 s of lease, and clocks that differ


class State(msgspec.Struct, frozen=True):
    """What a turn in this state admits; all else is refused or passed over."""

    holds: bool = False  # questions, decisions and forgetting are refused while it lasts (session_busy)
    is_replaced: bool = False  # the next turn is written in its place, under its number
    waits: bool = (
        False  # a person may decide what it asked for; a question lays its lease on it, and closes it once answered
    )
    is_decided: bool = False  # decisions that it knows may be sent again
    is_shown: bool = False  # a person may read it, and a repeated request gets its answer
    is_pair: bool = False  # counts among the last N
    is_sent: bool = False  # the model sees it again


STATES = {
    RUNNING: State(holds=True),
    TAKEN_OVER: State(holds=True),
    CRASHED: State(is_replaced=True, is_decided=True),
    WAITING: State(waits=True, is_decided=True, is_shown=True),
    OVERTAKEN: State(holds=True, waits=True, is_shown=True),
    CLOSED: State(is_decided=True, is_shown=True, is_pair=True, is_sent=True),
    DONE: State(is_decided=True, is_shown=True, is_pair=True, is_sent=True),
    BLOCKED: State(is_decided=True, is_shown=True, is_pair=True),
    EXPIRED: State(),
}


def with_closed(turns: Sequence[StoredTurn]) -> list[StoredTurn]:
    """The turns of a session, newest first, those that wait no more as CLOSED, whatever their items still say.

    A later turn closes them once it is stored with its answer, or written down before side effects. One that was stored by
    an earlier version, without a random value, was never a question about one very call.
    """
    marked: list[StoredTurn] = []
    is_closing = False
    for turn in turns:
        closed = turn.status == WAITING and (is_closing or not turn.random)
        marked.append(replace(turn, status=CLOSED) if closed else turn)
        is_closing = is_closing or turn.status in (*_KEPT, CLOSED) or turn.messages is not None
    return marked


def state_name(turn: StoredTurn, now: float) -> str:
    """The state of a turn at `now` (epoch seconds).

    running: its lease holds. taken_over: likewise, and it holds messages that were written down before, which stay where it
    fails. crashed: left running, its lease has ended, or is one that nobody can have been given. overtaken: it waits, and a
    question that came instead of a yes is being answered. closed: as `with_closed` marks it. expired: DynamoDB may delete it
    at any time, or it was edited into a status that there is not.
    """
    is_held = 0 < turn.lease_until / 1000 - now <= _LONGEST_LEASE_SECONDS
    if turn.status == RUNNING:
        if not is_held or is_expired(turn, now):
            return CRASHED
        return RUNNING if turn.messages is None else TAKEN_OVER
    if is_expired(turn, now) or turn.status not in (*_KEPT, CLOSED):
        return EXPIRED
    return OVERTAKEN if turn.status == WAITING and is_held else turn.status


def state_of(turn: StoredTurn, now: float) -> State:
    """What the turn admits at `now` (epoch seconds)."""
    return STATES[state_name(turn, now)]


def is_expired(turn: StoredTurn, now: float) -> bool:
    """Whether DynamoDB may delete the item at any time, or would have long ago."""
    return 0 < turn.expires_at <= now
