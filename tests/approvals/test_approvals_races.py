"""Approvals at once, and beside questions."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from agent.deadline import start
from agent.errors import AgentError, ModelUnavailableError, NotFoundError, SessionBusyError
from tests.approvals.office import Office
from tests.fakes import reply, use


def before(office: Office, operation: str, act: Callable[[], object]) -> None:
    """Does something once, right before the next such call of the table is made."""
    pending = [act]

    def plan(name: str, count: int) -> None:
        if name == operation and pending:
            pending.pop()()

    office.client.before = plan


def test_of_two_approvals_at_once_one_runs_and_the_other_is_told_so(office: Office) -> None:
    office.wait()
    barrier = threading.Barrier(2, timeout=10)

    def meet(operation: str, count: int) -> None:
        if operation == "put_item" and not office.ran:
            barrier.wait()  # both have read that it waits

    office.client.before = meet
    attempts = [office.approve_beside(reply("Done.")), office.approve_beside()]
    errors = [attempt.exception(timeout=10) for attempt in attempts]
    assert sorted(type(error).__name__ for error in errors) == ["NoneType", "SessionBusyError"]
    assert office.ran == ["refund 7 1"]
    office.mend()
    office.goes_on()


def test_while_the_approved_call_runs_nobody_else_gets_in(office: Office) -> None:
    office.wait()
    runs, may_end = office.pause_inside()
    first = office.approve_beside(reply("Done."))
    assert runs.wait(10)
    with pytest.raises(SessionBusyError) as caught:
        office.approve(t1=True)
    assert caught.value.retry_after == 65
    with pytest.raises(SessionBusyError):
        office.ask(text="and?")
    with pytest.raises(SessionBusyError):
        office.sessions().forget(office.key)
    may_end.set()
    assert first.result(timeout=10)["answer"] == "Done."
    assert office.ran == ["refund 7 1"]


@pytest.mark.parametrize("operation", ["put_item", "update_item"])
@pytest.mark.parametrize("second", ["an approval", "a question"])
def test_who_saw_it_wait_takes_over_no_call_that_runs_meanwhile(office: Office, second: str, operation: str) -> None:
    office.wait()
    runs, may_end = office.pause_inside()
    first: list[Future[dict[str, Any]]] = []

    def overtake() -> None:
        first.append(office.approve_beside(reply("Done.")))
        assert runs.wait(10)

    if (second, operation) == ("an approval", "update_item"):
        operation = "query"  # it updates nothing; the approval is beside it from the beginning
    before(office, operation if second == "an approval" else "update_item", overtake)
    try:
        with pytest.raises(SessionBusyError):
            office.approve(t1=True) if second == "an approval" else office.ask(text="and something else?")
    finally:
        may_end.set()
    assert first[0].result(timeout=10).get("saved", True)
    assert (office.ran, office.statuses()) == (["refund 7 1"], ["done"])


def test_of_two_questions_at_a_crashed_turn_the_second_does_not_take_over_the_first(office: Office) -> None:
    with pytest.raises(ModelUnavailableError):
        office.ask(office.die)
    office.live_again()
    runs, may_end = threading.Event(), threading.Event()

    def slow(request: Any, deadline: Any) -> Any:
        runs.set()
        assert may_end.wait(10)
        return reply("first")

    first: list[Future[dict[str, Any]]] = []

    def overtake() -> None:
        office.script.left.append(slow)
        first.append(start(lambda: office.ask(text="one")))
        assert runs.wait(10)

    before(office, "get_item", overtake)
    try:
        with pytest.raises(SessionBusyError):
            office.ask(text="two")
    finally:
        may_end.set()
    assert first[0].result(timeout=10).get("saved", True)


def test_an_approval_that_a_question_has_overtaken_runs_nothing(office: Office) -> None:
    office.wait()
    before(office, "put_item", lambda: office.ask(reply("Sure."), text="and something else?"))
    with pytest.raises(AgentError) as caught:
        office.approve(t1=True)
    assert caught.value.code in ("session_busy", "not_found")
    assert (office.ran, len(office.items())) == ([], 2)
    assert office.sessions().read(office.key)[0]["stop_reason"] == "end_turn"
    office.goes_on()


def test_half_an_answer_that_a_question_has_overtaken_opens_nothing_again(office: Office) -> None:
    office.wait(use("t1", "refund", {"order": "1"}), use("t2", "refund", {"order": "2"}))

    def overtake() -> None:
        office.ask(reply("Sure."), text="and something else?")

    pending = [overtake]

    def plan(name: str, count: int) -> None:
        if name in ("update_item", "put_item") and pending:
            pending.pop()()

    office.client.before = plan
    with pytest.raises(AgentError) as caught:
        office.approve(t1=True)
    assert caught.value.code in ("session_busy", "not_found")
    assert [turn["stop_reason"] for turn in office.sessions().read(office.key)] == ["end_turn", "end_turn"]
    with pytest.raises(NotFoundError):
        office.approve(t2=True)


@pytest.mark.parametrize("second", ["half", "whole"])
def test_half_an_answer_is_not_lost_to_another_at_the_same_time(office: Office, second: str) -> None:
    office.wait(use("t1", "refund", {"order": "1"}), use("t2", "refund", {"order": "2"}))
    pending = [lambda: office.approve(by="boss", t1=False)]

    def plan(name: str, count: int) -> None:
        if name in ("update_item", "put_item") and pending:
            pending.pop()()

    office.client.before = plan
    verdicts = {"t2": True} if second == "half" else {"t1": True, "t2": True}
    try:
        office.decide(verdicts, reply("Done."), by="clerk")
    except SessionBusyError:
        office.script.left.clear()
    assert office.decisions()["t1"]["approved"] is False
    assert "refund 1 1" not in office.ran
