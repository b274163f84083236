"""Time that ends, and calls that are waited for no longer than it allows."""

import contextvars
import threading

import pytest

from agent.deadline import Deadline, start
from tests.fakes import FakeClock

_VARIABLE = contextvars.ContextVar("_VARIABLE", default="unset")


def test_time_runs_down_and_below_zero() -> None:
    clock = FakeClock()
    deadline = Deadline.after(5, clock)
    assert deadline.left() == 5
    clock.advance(7)
    assert deadline.left() == -2


def test_an_earlier_deadline_is_on_the_same_clock() -> None:
    clock = FakeClock()
    earlier = Deadline.after(5, clock).earlier(2)
    clock.advance(1)
    assert earlier.left() == 2


def test_a_call_gives_its_result_in_a_daemon_thread() -> None:
    thread = start(threading.current_thread).result(5)
    assert thread is not threading.current_thread()
    assert thread.daemon


@pytest.mark.parametrize("error", [ValueError("why"), SystemExit(1), KeyboardInterrupt()], ids=repr)
def test_what_a_call_raises_reaches_who_waits(error: BaseException) -> None:
    def fail() -> None:
        raise error

    assert start(fail).exception(5) is error


def test_a_call_has_the_context_variables_of_who_started_it_and_keeps_its_own() -> None:
    _VARIABLE.set("given")

    def change() -> str:
        before = _VARIABLE.get()
        _VARIABLE.set("changed")
        return before

    assert start(change).result(5) == "given"
    assert _VARIABLE.get() == "given"


def test_waiting_ends_though_the_call_does_not() -> None:
    release = threading.Event()
    future = start(lambda: release.wait(30))
    with pytest.raises(TimeoutError):
        future.result(timeout=0.01)
    release.set()
    assert future.result(5)


def test_a_moment_can_be_brought_forward_but_not_put_off() -> None:
    clock = FakeClock()
    deadline = clock.deadline(10)
    assert deadline.within(3).left() == 3
    assert deadline.within(30).left() == 10


def test_a_pause_grows_with_each_attempt_and_is_left_out_where_the_time_ends_first() -> None:
    clock, pauses = FakeClock(), list[float]()
    deadline = clock.deadline(10)
    assert all(deadline.pause(attempt, 1.0, pauses.append) for attempt in (1, 2, 3))
    assert all(full / 2 <= seconds <= full for seconds, full in zip(pauses, (1, 2, 4), strict=True))
    assert deadline.pause(1, 1.0, pauses.append, least=7)
    assert pauses[-1] == 7
    assert not deadline.pause(1, 1.0, pauses.append, least=10)
    assert not deadline.pause(6, 1.0, pauses.append)
    assert len(pauses) == 4
