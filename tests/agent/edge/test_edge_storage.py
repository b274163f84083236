"""DynamoDB that throttles, drops or hangs at any of its calls: the answer reaches the caller, nothing is half written."""

from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from agent.errors import (
    AgentError,
    MisconfiguredError,
    ModelUnavailableError,
    SessionBusyError,
    StorageUnavailableError,
)
from agent.ports import DONE
from tests.agent.edge.desk import FAULTS, RESERVE, Desk, every_fault, fail, mend, refused
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


def hang(desk: Desk, operation: str, seconds: float) -> None:
    """Has each of these calls end in a read time-out, after the client's seconds."""

    def plan(name: str, count: int) -> BaseException | None:
        if name != operation:
            return None
        desk.clock.advance(seconds)
        return ReadTimeoutError(endpoint_url="https://dynamodb")

    desk.client.before = plan


@pytest.mark.parametrize("left", [0.1, 1, 3, 30])
def test_a_save_that_hangs_does_not_outlive_the_function(desk: Desk, left: float) -> None:
    hang(desk, "update_item", 2.0)
    question = desk.question(seconds=60)

    def late(request: Any, deadline: Any) -> Any:
        desk.clock.advance(60 - left)
        return reply("precious")

    answer = desk.sessions(late).ask(question)
    assert answer["saved"] is False
    assert desk.clock() <= question.deadline.at + RESERVE


@pytest.mark.parametrize("seconds", [1, 3, 10])
def test_a_read_that_hangs_does_not_outlive_the_function(desk: Desk, seconds: float) -> None:
    hang(desk, "query", 2.0)
    question = desk.question(seconds=seconds)
    with pytest.raises(AgentError):
        desk.sessions().ask(question)
    assert desk.clock() <= question.deadline.at + RESERVE
