"""Which turns the model sees: the last N completed ones, whole, repaired, without the reasoning of older turns."""

from collections.abc import Sequence

from agent.messages import Message, repair
from agent.ports import BLOCKED, DONE, RUNNING, WAITING, StoredTurn


def completed(turns: Sequence[StoredTurn], pairs: int, now: float) -> list[StoredTurn]:
    """The newest `pairs` completed turns that have not expired at `now` (epoch seconds), newest first."""
    return [turn for turn in turns if is_completed(turn, now)][:pairs]


def is_completed(turn: StoredTurn, now: float) -> bool:
    """Whether the turn counts as a pair: answered or stopped by a guardrail, and not expired."""
    return turn.status in (DONE, BLOCKED) and not is_expired(turn, now)


def is_expired(turn: StoredTurn, now: float) -> bool:
    """Whether DynamoDB may delete the item at any time, or would have long ago."""
    return 0 < turn.expires_at <= now


def is_shown(turn: StoredTurn, now: float) -> bool:
    """Whether a person may read the turn: completed ones, and those that wait for a person's yes."""
    return (turn.status == WAITING or is_completed(turn, now)) and not is_expired(turn, now)


def is_crashed(turn: StoredTurn, now: float) -> bool:
    """Whether a turn was left running: its lease has ended, or is one that nobody can have been given."""
    left = turn.lease_until / 1000 - now
    return turn.status == RUNNING and (left <= 0 or left > _LONGEST_LEASE_SECONDS or is_expired(turn, now))


_LONGEST_LEASE_SECONDS = 15 * 60 + 30  # Lambda's longest time-out, 5 s of lease, and clocks that differ


def model_history(turns: Sequence[StoredTurn], seen: set[str]) -> list[list[Message]]:
    """The messages of completed turns, oldest turn first, one list a turn. `seen` gets their tool use ids.

    A turn that a guardrail stopped is left out, since its question would stop every later turn, and one without messages.
    """
    history: list[list[Message]] = []
    for turn in reversed(turns):
        messages = repair(turn.messages, seen) if turn.status != BLOCKED else []
        if messages:
            history.append(messages)
    return history
