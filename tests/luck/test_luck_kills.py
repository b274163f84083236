"""A process that is killed in a turn: nothing stored is invalid, and the next request works once the lease has ended."""

import random

import pytest

from tests.torture import killing
from tests.torture.checks import check
from tests.torture.faults import KILLS, MODEL, Kind, Plan
from tests.torture.ground import Ground

pytestmark = pytest.mark.slow
_POINTS = 5


def test_a_turn_that_is_killed_at_any_instruction_leaves_a_session_that_goes_on(ground: Ground) -> None:
    length = killing.instructions_of_a_turn(ground)
    for point in range(_POINTS):
        killing.killed_at_an_instruction(ground, 1 + length * point // _POINTS)
    assert ground.tally.counts["kills"] == _POINTS


def test_a_turn_that_is_killed_at_any_moment_leaves_a_session_that_goes_on(ground: Ground) -> None:
    choice = random.Random(1)
    for _ in range(12):  # how fast a turn is depends on the machine
        killing.killed_after_a_time(ground, choice)
        if ground.tally.counts["kills"] == 3:
            break
    assert ground.tally.counts["kills"]


@pytest.mark.parametrize("kind", KILLS)
@pytest.mark.parametrize("operation", [MODEL, "UpdateItem"])
def test_a_turn_that_is_killed_at_a_call_leaves_a_session_that_goes_on(
    ground: Ground, operation: str, kind: Kind
) -> None:
    killing.killed_at_a_call(ground, Plan(kind, operation, times=1), "letter")
    assert ground.tally.counts["kills"]


@pytest.mark.parametrize("same", [True, False], ids=["the same request", "another request"])
def test_a_tool_that_was_killed_with_its_process_is_told_of_and_never_run_again(ground: Ground, same: bool) -> None:
    killing.killed_in_a_tool(ground, same=same)
    assert ground.tally.counts["kills"] == 1


@pytest.mark.parametrize("step", [1, 2])
def test_a_process_that_was_overtaken_while_it_stood_still_changes_nothing_any_more(ground: Ground, step: int) -> None:
    killing.frozen(ground, step)


def test_a_lease_ends_by_itself_on_a_clock_that_nobody_moves(ground: Ground) -> None:
    session = ground.session()
    question = session.question("die")
    assert session.ask(question, seconds=2.5) is None
    told = session.ask(question)
    assert told
    assert (told.status, told.code) == (409, "session_busy")
    killing.wait(told)
    answer = session.ask(question)
    assert answer
    assert answer.status == 200
    check(session, "a lease that ends by itself")
