"""Leases that a broken answer of the store must not mislead."""

import pytest

from agent.deadline import Deadline
from agent.errors import StorageUnavailableError
from agent.messages import user_text
from agent.ports import RUNNING, StoredTurn
from agent.sessions.leases import Leases, Question
from tests.fakes import FakeJournal, FakeStore


class _BrokenGet(FakeStore):
    """Answers every reading of one turn with a body that holds nothing, as a cut one is parsed."""

    def get(self, key: str, turn: int, deadline: Deadline) -> StoredTurn | None:
        return None


def test_a_crashed_turn_that_can_not_be_read_is_not_passed_over() -> None:
    crashed = StoredTurn("s", 1, RUNNING, "r1", "send it", [user_text("send it")], lease_id="gone", lease_until=1)
    store = _BrokenGet([crashed])
    reservations = Leases(store, FakeJournal(), 10, 1000, lambda: "mine", lambda: 1000.0)
    question = Question("s", "s", "r2", "", "and now?", Deadline.after(60))
    with pytest.raises(StorageUnavailableError):
        reservations.for_question(question, lambda: None)
    assert store.turns("s") == [crashed]
