"""Whatever a model answers, the loop ends, the answer is not blank, and the next request keeps the rules."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.messages import Block, Usage
from agent.ports import ModelReply
from agent.sessions.history import completed, model_history
from agent.tooling.toolbox import ToolLimits
from agent.turn.loop import Limits
from agent.turn.repair import repair
from local.bedrock.service_model import service_model
from tests.agent.turn.strategies import EXAMPLES, MODEL_BLOCKS
from tests.agent.turn.turns import ask_again, make_turn, stored
from tests.fakes import NOVA, FakeModel, asks, reply, thought, use

_STOP_REASONS = st.sampled_from(
    ["tool_use"] * 4 + [*service_model().shape_for("StopReason").metadata["enum"], "something_new", ""]
)
_REPLIES = st.builds(
    ModelReply,
    content=st.lists(MODEL_BLOCKS, max_size=4),
    stop_reason=_STOP_REASONS,
    usage=st.builds(Usage, st.integers(0, 50), st.integers(0, 50)),
    model_id=st.just(NOVA),
)


@settings(EXAMPLES, max_examples=60)
@given(st.lists(_REPLIES, min_size=1, max_size=4), st.integers(1, 5), st.none() | st.integers(1, 200))
def test_any_model_leaves_a_valid_turn(replies: list[ModelReply], max_steps: int, token_limit: int | None) -> None:
    model = FakeModel(itertools.cycle(replies))
    turn = make_turn(
        model, limits=Limits(max_steps, token_limit), tool_limits=ToolLimits(max_uses_per_step=2, result_max_chars=20)
    )
    outcome = turn.run()
    assert outcome.answer.strip()
    json.dumps(outcome.answer, ensure_ascii=False).encode()
    assert outcome.steps == len(model.requests) <= max_steps
    assert outcome.messages[0]["content"][0] == {"text": "question"}
    assert len(outcome.tool_records) == sum("toolResult" in b for m in outcome.messages for b in m["content"])
    ask_again([repair(outcome.messages, set())])
    ask_again(model_history(completed([stored(outcome)], 1, 0), set()))


@pytest.mark.parametrize(
    "block",
    [
        thought("unsigned", None),
        {"reasoningContent": {"reasoningText": {"text": "", "signature": "c2ln"}}},
    ],
)
def test_unusual_reasoning_beside_a_tool_use_does_not_stop_a_model_that_sends_it(block: Block) -> None:
    model = FakeModel([asks(block, use("t1")), reply("done")], model_ids=[NOVA])
    assert make_turn(model).run().answer == "done"
