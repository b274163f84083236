"""Services that fail: the right code in bounded attempts and time, no turn by half, and no answer lost."""

import random

import pytest

from tests.torture import failing
from tests.torture.faults import MODEL_KINDS, STORAGE_KINDS, Kind
from tests.torture.ground import Ground

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", [kind for kind in MODEL_KINDS if kind not in ("unready", "slow", "garbage")])
def test_a_model_that_fails_each_time_has_its_code_and_leaves_the_session_free(ground: Ground, kind: Kind) -> None:
    failing.model_fails(ground, kind)
    assert ground.cloud.faults[f"model {kind}"]


@pytest.mark.parametrize("kind", ["throttle", "garbage", "fail"])
def test_a_model_that_fails_once_is_asked_again_where_that_can_help(ground: Ground, kind: Kind) -> None:
    failing.model_fails(ground, kind, once=True)


@pytest.mark.parametrize("operation", ["Query", "PutItem", "UpdateItem"])
@pytest.mark.parametrize(
    "kind", [kind for kind in STORAGE_KINDS if kind not in ("slow", "late", "error", "drop_middle")]
)
def test_storage_that_fails_never_costs_an_answer_that_was_paid_for(ground: Ground, kind: Kind, operation: str) -> None:
    failing.storage_fails(ground, kind, operation)
    assert ground.cloud.faults[f"storage {kind}"]


def test_storage_that_answers_too_late_is_found_to_have_worked(ground: Ground) -> None:
    failing.storage_fails(ground, "late", "PutItem")


def test_any_fault_in_a_turn_with_side_effects_is_survived(ground: Ground) -> None:
    choice = random.Random(1)
    for _ in range(3):
        failing.something_fails(ground, choice)


def test_a_tool_that_hangs_holds_up_neither_the_next_invocation_nor_the_end_of_the_process(ground: Ground) -> None:
    failing.a_tool_hangs(ground)
