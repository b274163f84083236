"""Which scenarios are tried, in what order: four lanes beside each other, each without end."""

import random
from collections.abc import Callable, Iterator
from functools import partial

from tests.torture import approving, crowds, failing, killing, spending
from tests.torture.faults import MODEL_KINDS, OF_EACH_TURN, STORAGE_KINDS
from tests.torture.ground import Ground

Scenario = Callable[[], None]
_GOLDEN = 0.6180339887498949  # its multiples, less their whole parts, fill the space from 0 to 1 evenly, however many are taken


def lanes(ground: Ground, seed: int) -> list[Iterator[Scenario]]:
    """Endless scenarios, the same ones for the same seed."""
    return [each(ground, random.Random(f"{seed} {each.__name__}")) for each in (_kills, _failures, _crowds, _approvals)]


def _kills(ground: Ground, choice: random.Random) -> Iterator[Scenario]:
    lengths = {task: killing.instructions_of_a_turn(ground, task) for task in killing.TASKS}
    where = choice.random()
    while True:
        for task, length in lengths.items():
            where = (where + _GOLDEN) % 1
            yield partial(killing.killed_at_an_instruction, ground, 1 + int(where * length), task)
            yield partial(
                killing.killed_at_a_call, ground, killing.any_kill_at_a_call(choice), choice.choice(killing.TASKS)
            )
            yield partial(killing.killed_after_a_time, ground, choice)
        yield partial(killing.killed_in_a_tool, ground, same=choice.random() < 0.5)
        yield partial(killing.frozen, ground, choice.randint(1, 2))


def _failures(ground: Ground, choice: random.Random) -> Iterator[Scenario]:
    planned = [partial(failing.model_fails, ground, kind, once=once) for kind in MODEL_KINDS for once in (False, True)]
    planned += [
        partial(failing.storage_fails, ground, kind, operation) for kind in STORAGE_KINDS for operation in OF_EACH_TURN
    ]
    choice.shuffle(planned)
    for each in planned:
        yield each
        yield partial(failing.something_fails, ground, choice)
    while True:
        yield partial(failing.something_fails, ground, choice)


def _crowds(ground: Ground, choice: random.Random) -> Iterator[Scenario]:
    yield partial(crowds.many_at_one_session, ground)
    while True:
        yield partial(crowds.the_same_request, ground, choice.randint(2, 8))
        yield partial(crowds.the_same_request, ground, choice.randint(2, 8), named=False)
        yield partial(failing.a_tool_hangs, ground)
        yield partial(crowds.many_at_one_session, ground, choice.randint(3, 20), hurry=choice.choice((5, 20)))


def _approvals(ground: Ground, choice: random.Random) -> Iterator[Scenario]:
    length = approving.instructions_of_a_yes(ground)
    where = choice.random()
    while True:
        where = (where + _GOLDEN) % 1
        forgets = choice.choice(("", "without memory"))
        yield partial(approving.decided, ground, choice, choice.choice(("", "", "without memory")))
        yield partial(approving.killed, ground, choice, kill_at=1 + int(where * length))
        yield partial(approving.beside_questions, ground, choice, forgets)
        yield partial(approving.at_once, ground, choice.randint(2, 6), choice)
        yield partial(approving.killed, ground, choice)
        yield partial(approving.a_question_fails, ground, choice, forgets)
        yield partial(approving.the_storage_fails, ground, choice)
        yield partial(approving.an_old_yes, ground)
        yield partial(approving.an_old_yes_again, ground)
        yield partial(approving.too_late, ground)
        yield partial(approving.by_another, ground)
        yield partial(spending.another_model_takes_over, ground, choice)
        yield partial(spending.tokens_of_a_day, ground, choice.randint(2, 8))
