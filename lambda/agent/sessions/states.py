"""The states of a turn, and what each admits: the one table, from which the code and its tests read.

An item knows four of them (`status`); the others follow from its lease, its end and what it holds.
"""

import msgspec

from agent.ports import BLOCKED, DONE, RUNNING, WAITING, StoredTurn

_KEPT = (DONE, BLOCKED, WAITING)
CRASHED, EXPIRED, TAKEN_OVER = "crashed", "expired", "taken_over"
_LONGEST_LEASE_SECONDS = 15 * 60 + 30  # Lambda's longest time-out, 5 s of lease, and clocks that differ


class State(msgspec.Struct, frozen=True):
    """What a turn in this state admits; all else is refused or passed over."""

    holds: bool = False  # questions, decisions and forgetting are refused while it lasts (session_busy)
    is_replaced: bool = False  # the next turn is written in its place, under its number
    is_closed: bool = False  # the next question closes it before its own turn begins
    is_decided: bool = False  # a person may decide what it asked for
    is_shown: bool = False  # a person may read it, and a repeated request gets its answer
    is_pair: bool = False  # counts among the last N
    is_sent: bool = False  # the model sees it again


STATES = {
    RUNNING: State(holds=True),
    TAKEN_OVER: State(holds=True),
    CRASHED: State(is_replaced=True, is_decided=True),
    WAITING: State(is_closed=True, is_decided=True, is_shown=True),
    DONE: State(is_shown=True, is_pair=True, is_sent=True),
    BLOCKED: State(is_shown=True, is_pair=True),
    EXPIRED: State(),
}


def state_name(turn: StoredTurn, now: float) -> str:
    """The state of a turn at `now` (epoch seconds).

    running: its lease holds. taken_over: likewise, and it holds messages that were written down before, which stay where it
    fails. crashed: left running, its lease has ended, or is one that nobody can have been given. expired: DynamoDB may delete
    it at any time, or it was edited into a status that there is not.
    """
    if turn.status == RUNNING:
        left = turn.lease_until / 1000 - now
        if not 0 < left <= _LONGEST_LEASE_SECONDS or is_expired(turn, now):
            return CRASHED
        return RUNNING if turn.messages is None else TAKEN_OVER
    return EXPIRED if is_expired(turn, now) or turn.status not in _KEPT else turn.status


def state_of(turn: StoredTurn, now: float) -> State:
    """What the turn admits at `now` (epoch seconds)."""
    return STATES[state_name(turn, now)]


def is_expired(turn: StoredTurn, now: float) -> bool:
    """Whether DynamoDB may delete the item at any time, or would have long ago."""
    return 0 < turn.expires_at <= now
