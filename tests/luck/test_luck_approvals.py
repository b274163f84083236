"""Letters that need a yes, fallback models and a day's tokens: no call without its own yes, none twice."""

import random

import pytest

from tests.torture import approving, spending
from tests.torture.ground import Ground

pytestmark = pytest.mark.slow
_POINTS = 5


@pytest.mark.parametrize("worker", ["", "without memory"])
def test_each_verdict_does_what_it_says_and_never_again(ground: Ground, worker: str) -> None:
    for seed in range(3):
        approving.decided(ground, random.Random(seed), worker)


def test_an_old_yes_runs_no_later_call_under_the_same_id(ground: Ground) -> None:
    approving.an_old_yes(ground)
    approving.an_old_yes_again(ground)


def test_of_many_decisions_at_once_one_is_taken(ground: Ground) -> None:
    approving.at_once(ground, 5, random.Random(1))


def test_a_yes_after_its_time_runs_nothing(ground: Ground) -> None:
    approving.too_late(ground)


def test_nobody_but_an_approver_decides(ground: Ground) -> None:
    approving.by_another(ground)


def test_a_process_that_dies_anywhere_between_yes_and_answer_runs_the_call_at_most_once(ground: Ground) -> None:
    length = approving.instructions_of_a_yes(ground)
    for point in range(_POINTS):
        approving.killed(ground, random.Random(point), kill_at=1 + length * point // _POINTS)
    approving.killed(ground, random.Random(1))
    assert ground.tally.counts["kills"] >= _POINTS


def test_any_fault_of_the_storage_at_a_yes_is_survived(ground: Ground) -> None:
    for seed in range(3):
        approving.the_storage_fails(ground, random.Random(seed))


@pytest.mark.parametrize("worker", ["", "without memory"])
def test_a_question_and_a_yes_at_the_same_instant_never_both_run(ground: Ground, worker: str) -> None:
    for seed in range(3):
        approving.beside_questions(ground, random.Random(seed), worker)


@pytest.mark.parametrize("worker", ["", "without memory"])
def test_a_question_that_fails_or_dies_leaves_what_waits_waiting(ground: Ground, worker: str) -> None:
    approving.a_question_fails(ground, random.Random(1), worker)


def test_a_fallback_model_goes_on_wherever_the_first_one_fails(ground: Ground) -> None:
    for seed in range(6):
        spending.another_model_takes_over(ground, random.Random(seed))


def test_the_tokens_of_a_day_are_counted_to_the_last_one(ground: Ground) -> None:
    spending.tokens_of_a_day(ground, 4)
