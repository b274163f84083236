"""DynamoDB that throttles, drops or hangs at any of its calls: the answer reaches the caller, nothing is half written."""

from typing import Any

import pytest
from msgspec.structs import replace

from agent.adapters.dynamodb.meter import DynamoDBMeter
from agent.deadline import Deadline
from agent.errors import (
    AgentError,
    MisconfiguredError,
    ModelUnavailableError,
    OutOfTimeError,
    SessionBusyError,
    StorageUnavailableError,
)
from agent.ports import DONE
from agent.sessions.tokens import DailyTokens
from tests.agent.edge.desk import FAULTS, Desk, every_fault, fail, mend, refused
from tests.agent.edge.whole_function import TABLE
from tests.fakes import reply


@every_fault
def test_a_session_that_can_not_be_read_asks_no_model(desk: Desk, fault: Exception) -> None:
    fail(desk, "query", fault)
    with pytest.raises(StorageUnavailableError) as caught:
        desk.ask()
    assert caught.value.retry_after == 5
    assert desk.model
    assert desk.model.requests == []
    assert set(desk.client.operations) == {"query"}


@every_fault
def test_a_session_that_can_not_be_reserved_asks_no_model(desk: Desk, fault: Exception) -> None:
    fail(desk, "put_item", fault)
    with pytest.raises(StorageUnavailableError):
        desk.ask()
    assert desk.model
    assert desk.model.requests == []
    assert desk.items() == []
    assert len(desk.client.calls) <= 10


@every_fault
def test_a_reservation_whose_answer_was_lost_is_found(desk: Desk, fault: Exception) -> None:
    fail(desk, "put_item", fault, made=True)
    assert desk.ask()["turn"] == 1
    assert desk.statuses() == [DONE]
    assert desk.client.count("put_item") == 1


def test_a_reservation_that_was_lost_for_good_leaves_no_busy_session(desk: Desk) -> None:
    fault = FAULTS[-1]
    desk.client.after = lambda operation, count: fault if operation == "put_item" else None
    desk.client.before = lambda operation, count: fault if operation == "query" and count > 1 else None
    with pytest.raises(StorageUnavailableError):
        desk.ask()
    assert desk.items() == []


@every_fault
def test_an_answer_that_can_not_be_saved_is_returned_and_says_so(desk: Desk, fault: Exception) -> None:
    fail(desk, "update_item", fault)
    answer = desk.ask(reply("precious"))
    assert (answer["answer"], answer["saved"]) == ("precious", False)
    assert DONE not in desk.statuses()
    assert desk.journal.warnings


def test_an_answer_that_was_not_saved_does_not_hold_the_session(desk: Desk) -> None:
    fail(desk, "update_item", FAULTS[1])
    desk.ask(reply("precious"))
    mend(desk)
    assert desk.ask(reply("next"))["answer"] == "next"


@every_fault
def test_a_save_whose_answer_was_lost_is_no_loss(desk: Desk, fault: Exception) -> None:
    fail(desk, "update_item", fault, made=True)
    assert "saved" not in desk.ask()
    assert desk.statuses() == [DONE]


@pytest.mark.parametrize("count", [1, 3])
@every_fault
def test_what_could_not_be_trimmed_is_trimmed_by_the_next_turn(desk: Desk, fault: Exception, count: int) -> None:
    desk.pairs = 5
    for _ in range(5):
        desk.ask()
    desk.pairs = 6 - count
    for operation in ("delete_item", "batch_write_item"):
        fail(desk, operation, fault)
    plan = desk.client.before
    desk.client.before = lambda name, number: (
        fault if name in ("delete_item", "batch_write_item") else plan(name, number)
    )
    assert "saved" not in desk.ask()
    assert len(desk.items()) == 6
    mend(desk)
    desk.ask()
    assert len(desk.items()) == desk.pairs


@every_fault
def test_a_failed_turn_that_can_not_be_freed_ends_with_its_lease(desk: Desk, fault: Exception) -> None:
    fail(desk, "delete_item", fault)
    with pytest.raises(ModelUnavailableError):
        desk.ask(ModelUnavailableError())
    mend(desk)
    with pytest.raises(SessionBusyError) as caught:
        desk.ask()
    assert caught.value.retry_after == 65
    desk.clock.advance(65)
    assert desk.ask()["turn"] == 1
    assert desk.statuses() == [DONE]


def test_denied_access_is_misconfigured(desk: Desk) -> None:
    fail(desk, "query", refused("AccessDeniedException"))
    with pytest.raises(MisconfiguredError):
        desk.ask()


def test_a_denied_save_does_not_lose_the_answer(desk: Desk) -> None:
    fail(desk, "update_item", refused("AccessDeniedException"))
    answer = desk.ask(reply("precious"))
    assert (answer["answer"], answer["saved"]) == ("precious", False)


@pytest.mark.parametrize("left", [0.01, 0.1, 1, 3, 30])
@pytest.mark.parametrize("tokens", [None, 100], ids=["", "with a daily limit"])
@pytest.mark.parametrize(
    "operations", [("update_item",), ("update_item", "get_item", "delete_item")], ids=["save", "all"]
)
def test_a_save_that_hangs_does_not_outlive_the_function(
    desk: Desk, left: float, tokens: int | None, operations: tuple[str, ...]
) -> None:
    question = desk.question(seconds=60)

    def late(request: Any, deadline: Any) -> Any:
        desk.clock.advance(deadline.left() - left)
        desk.client.hanging = dict.fromkeys(operations, desk.clock)
        return reply("precious", tokens=1)

    sessions = desk.sessions(late)
    if tokens:
        sessions = replace(sessions, tokens=DailyTokens(DynamoDBMeter(desk.client, TABLE), tokens))
    answer = sessions.ask(question)
    assert (answer["answer"], answer["saved"]) == ("precious", False)
    assert desk.clock() <= question.deadline.end().at


def test_counting_that_hangs_leaves_time_to_save(desk: Desk) -> None:
    class Hanging:
        def used(self, *_: Any) -> int:
            return 0

        def add(self, caller: str, tokens: int, now: float, deadline: Deadline) -> None:
            desk.clock.advance(deadline.left())
            raise StorageUnavailableError

    def late(request: Any, deadline: Deadline) -> Any:
        desk.clock.advance(deadline.left() + 1)
        return reply("precious", tokens=1)

    sessions = replace(desk.sessions(late), tokens=DailyTokens(Hanging(), 100))
    assert "saved" not in sessions.ask(desk.question())
    assert desk.statuses() == [DONE]


@pytest.mark.parametrize(
    ("seconds", "error"), [(1, OutOfTimeError), (3, OutOfTimeError), (10, StorageUnavailableError)]
)
@pytest.mark.parametrize("operation", ["query", "put_item"])
def test_a_call_before_the_model_that_hangs_does_not_outlive_the_function(
    desk: Desk, operation: str, seconds: float, error: type[AgentError]
) -> None:
    desk.client.hanging = {operation: desk.clock, "delete_item": desk.clock}
    question = desk.question(seconds=seconds)
    with pytest.raises(error):
        desk.sessions().ask(question)
    assert desk.clock() <= question.deadline.end().at


def test_a_failed_turn_whose_freeing_hangs_does_not_outlive_the_function(desk: Desk) -> None:
    desk.client.hanging = {"delete_item": desk.clock}
    question = desk.question(seconds=5)

    def late(request: Any, deadline: Deadline) -> Any:
        desk.clock.advance(deadline.left())
        raise OutOfTimeError

    with pytest.raises(OutOfTimeError):
        desk.sessions(late).ask(question)
    assert desk.clock() <= question.deadline.end().at
