"""Time of tools: they overlap, each ends in its time for the turn, and what hangs is left behind and bounded."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from agent.deadline import Deadline
from agent.ports import ToolRecord
from agent.tooling.tool import Tool, tool
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn.model_reply import clean_reply
from tests.agent.turn.turns import echo, tool_context
from tests.fakes import FakeClock, use

_SHORT = 0.05


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What hanging tools wait for; set when the test ends, so that no thread outlives it by much."""
    event = threading.Event()
    yield event
    event.set()


def _hanging(release: threading.Event, timeout_seconds: float | None = None) -> Tool[[], str]:
    @tool(timeout_seconds=timeout_seconds)
    def hang() -> str:
        """Wait."""
        release.wait(30)
        return "late"

    return hang


def _run(toolbox: Toolbox, *uses: dict[str, Any], deadline: Deadline | None = None) -> list[ToolRecord]:
    _, calls = clean_reply(uses, set())
    return toolbox.run(calls, deadline or Deadline.after(30), tool_context)


def _many(name: str, count: int) -> list[dict[str, Any]]:
    return [use(f"{name}{n}", name) for n in range(count)]


def test_a_tool_that_hangs_is_answered_in_time_and_the_others_are_unharmed(release: threading.Event) -> None:
    began = time.monotonic()
    slow, quick = _run(
        Toolbox([_hanging(release), echo], ToolLimits(timeout_seconds=_SHORT)), use("t1", "hang"), use("t2")
    )
    assert time.monotonic() - began < 5
    assert (slow.status, slow.error, quick.status) == ("error", "timeout", "success")
    assert "did not answer" in str(slow.result)
    assert slow.milliseconds > 0


def test_a_tool_has_its_own_time_where_it_sets_one(release: threading.Event) -> None:
    toolbox = Toolbox([_hanging(release, timeout_seconds=_SHORT)], ToolLimits(timeout_seconds=30))
    assert _run(toolbox, use("t1", "hang"))[0].error == "timeout"


def test_the_turns_deadline_bounds_a_tool_too(release: threading.Event) -> None:
    toolbox = Toolbox([_hanging(release)], ToolLimits(timeout_seconds=30))
    assert _run(toolbox, use("t1", "hang"), deadline=Deadline.after(_SHORT))[0].error == "timeout"


def test_without_time_no_tool_is_run() -> None:
    clock = FakeClock()
    deadline = clock.deadline(1)
    clock.advance(1)
    [record] = _run(Toolbox([echo], ToolLimits()), use("t1"), deadline=deadline)
    assert (record.status, record.error) == ("error", "not_run")
    assert "no time" in str(record.result)


def test_tools_of_a_step_overlap() -> None:
    together = threading.Barrier(8)

    @tool
    def meet() -> str:
        """Meet."""
        together.wait(10)
        return "met"

    records = _run(Toolbox([meet], ToolLimits(max_parallel=8)), *_many("meet", 8))
    assert [record.status for record in records] == ["success"] * 8


def test_no_more_tools_run_at_once_than_allowed() -> None:
    free = threading.Semaphore(2)
    too_many = threading.Event()

    @tool
    def count() -> str:
        """Count."""
        if not free.acquire(blocking=False):
            too_many.set()
            return "one too many"
        too_many.wait(_SHORT)  # time for one too many to come
        free.release()
        return "counted"

    records = _run(Toolbox([count], ToolLimits(max_parallel=2)), *_many("count", 6))
    assert [record.status for record in records] == ["success"] * 6
    assert not too_many.is_set()


def test_a_tool_that_hangs_does_not_hold_its_slot(release: threading.Event) -> None:
    toolbox = Toolbox([_hanging(release), echo], ToolLimits(timeout_seconds=_SHORT, max_parallel=1))
    assert [record.status for record in _run(toolbox, use("t1", "hang"), use("t2"))] == ["error", "success"]


def test_tools_that_hang_for_ever_are_bounded_and_forgotten_once_they_end(release: threading.Event) -> None:
    limits = ToolLimits(timeout_seconds=_SHORT, max_parallel=32)
    toolbox = Toolbox([_hanging(release), echo], limits)
    before = set(threading.enumerate())
    assert {record.error for record in _run(toolbox, *_many("hang", 32))} == {"timeout"}
    refused = _run(toolbox, *_many("hang", 5), use("t1"))
    assert {record.error for record in refused} == {"not_run"}
    assert "not ended" in str(refused[0].result)
    hung = set(threading.enumerate()) - before
    assert len(hung) <= 32
    release.set()
    for thread in hung:
        thread.join(5)
    assert _run(toolbox, use("t1"))[0].status == "success"


def test_a_late_answer_does_not_change_what_was_told(release: threading.Event) -> None:
    toolbox = Toolbox([_hanging(release)], ToolLimits(timeout_seconds=_SHORT))
    [record] = _run(toolbox, use("t1", "hang"))
    before = repr(record)
    release.set()
    assert repr(record) == before


def test_tool_threads_cannot_hold_up_the_end_of_the_process(release: threading.Event) -> None:
    before = set(threading.enumerate())
    _run(Toolbox([_hanging(release)], ToolLimits(timeout_seconds=_SHORT)), use("t1", "hang"))
    assert all(thread.daemon for thread in set(threading.enumerate()) - before)


def test_many_calls_at_once_keep_their_own_answers() -> None:
    together = threading.Barrier(32)

    @tool
    def same(n: int) -> int:
        """Say it again."""
        together.wait(10)
        return n

    toolbox = Toolbox([same], ToolLimits(max_parallel=32))
    records = _run(toolbox, *(use(f"t{n}", "same", {"n": n}) for n in range(32)))
    contents = [record.result["toolResult"]["content"] for record in records]
    assert contents == [[{"json": {"result": n}}] for n in range(32)]
