"""A turn asks the meter once, and before anything is reserved: a meter that fails can't hold a session."""

import itertools
import logging

import pytest

from agent.deadline import Deadline
from agent.errors import StorageUnavailableError
from agent.sessions.leases import Question
from agent.sessions.sessions import Sessions
from agent.sessions.tokens import DailyTokens
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn.loop import Limits
from tests.fakes import FakeJournal, FakeModel, FakeStore, reply


class _Meter:
    """Answers the first `answers` readings, and fails at the next."""

    def __init__(self, answers: int) -> None:
        self.answers = answers

    def used(self, caller: str, now: float, deadline: Deadline) -> int:
        self.answers -= 1
        if self.answers < 0:
            raise StorageUnavailableError
        return 0

    def add(self, caller: str, tokens: int, now: float, deadline: Deadline) -> None:
        """Counts nothing."""


def _ask(store: FakeStore, meter: _Meter) -> str:
    leases = itertools.count()
    sessions = Sessions(
        models=[FakeModel([reply("Fine.")])],
        store=store,
        toolbox=Toolbox([], ToolLimits()),
        journal=FakeJournal(),
        logger=logging.getLogger("agent"),
        system="",
        limits=Limits(),
        pairs=10,
        ttl_seconds=1000,
        new_id=lambda: f"lease {next(leases)}",
        tokens=DailyTokens(meter, 100),
    )
    return str(sessions.ask(Question("s", "s", "r", "", "hi", Deadline.after(60)))["answer"])


def test_the_meter_is_read_once_a_turn() -> None:
    assert _ask(FakeStore(), _Meter(answers=1)) == "Fine."


def test_a_meter_that_fails_leaves_nothing_reserved() -> None:
    store = FakeStore()
    with pytest.raises(StorageUnavailableError):
        _ask(store, _Meter(answers=0))
    assert store.turns("s") == []
