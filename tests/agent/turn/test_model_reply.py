"""What a model sent is made safe to act on and to send back."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import TOOL_NAME, TOOL_USE_ID, Block
from agent.turn.model_reply import clean_reply
from tests.agent.turn.strategies import EXAMPLES, MODEL_BLOCKS
from tests.fakes import thought, use


def _clean(*blocks: Block, seen: set[str] | None = None) -> tuple[list[Block] | None, list[Any]]:
    message, calls = clean_reply(blocks, set() if seen is None else seen)
    return (message["content"] if message else None), calls


@EXAMPLES
@given(st.lists(MODEL_BLOCKS, max_size=6))
def test_every_tool_use_of_a_reply_is_kept_under_a_valid_name_and_a_new_id(blocks: list[Block]) -> None:
    before = repr(blocks)
    seen = {"t1"}
    message, calls = clean_reply(blocks, seen)
    assert repr(blocks) == before
    kept = [block["toolUse"] for block in message["content"] if "toolUse" in block] if message else []
    assert [call.tool_use_id for call in calls] == [each["toolUseId"] for each in kept]
    assert len(calls) == sum("toolUse" in block for block in blocks)
    ids = [call.tool_use_id for call in calls]
    assert len({*ids, "t1"}) == len(ids) + 1
    assert all(TOOL_USE_ID.fullmatch(each["toolUseId"]) and TOOL_NAME.fullmatch(each["name"]) for each in kept)
    assert all(isinstance(each["input"], dict) for each in kept)


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        [{"text": ""}],
        [{"text": "\n"}],
        [{"text": None}],
        [{"SDK_UNKNOWN_MEMBER": {"name": "x"}}],
        [{"toolResult": {"toolUseId": "t1", "content": []}}],
        [thought()],
        [{"reasoningContent": {"SDK_UNKNOWN_MEMBER": {"name": "x"}}}],
    ],
)
def test_a_reply_in_which_nothing_can_be_kept_is_none(blocks: list[Block]) -> None:
    assert _clean(*blocks) == (None, [])


@pytest.mark.parametrize("tool_input", ["{}", "", None, [], [1], 5, True])
def test_an_input_that_is_no_object_is_a_problem_and_goes_back_as_an_empty_one(tool_input: object) -> None:
    block = {"toolUse": {"toolUseId": "t1", "name": "echo", "input": tool_input}}
    content, [call] = _clean(block)
    assert content == [use("t1", "echo", {})]
    assert "must be a JSON object" in call.problem


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ('open(url="https://x")', "open_url__https___x__"),
        ("a.b(c=1)", "a_b_c_1_"),
        ("y" * 65, "y" * 64),
        ("天気", "__"),
        ("", "unnamed"),
        (None, "unnamed"),
        (7, "unnamed"),
    ],
)
def test_a_name_that_no_tool_can_have_is_a_problem_and_goes_back_made_legal(name: object, kept: str) -> None:
    content, [call] = _clean(use("t1", name))
    assert content == [use("t1", kept)]
    assert call.problem


@pytest.mark.parametrize("tool_use_id", [None, 5, "", "a b", "x" * 65])
def test_an_illegal_id_is_replaced(tool_use_id: object) -> None:
    _, calls = _clean(use(tool_use_id), use(tool_use_id))
    assert all(TOOL_USE_ID.fullmatch(call.tool_use_id) for call in calls)
    assert calls[0].tool_use_id != calls[1].tool_use_id
    assert not calls[0].problem


def test_an_id_of_an_earlier_step_is_not_used_again() -> None:
    seen: set[str] = set()
    [first], [second] = _clean(use("t1"), seen=seen)[1], _clean(use("t1"), seen=seen)[1]
    assert first.tool_use_id == "t1"
    assert second.tool_use_id not in ("t1", "")


def test_an_input_with_numbers_that_json_lacks_goes_back_without_them() -> None:
    content, [call] = _clean(use("t1", "echo", {"a": float("nan"), "b": 10**40, "c": 0.1}))
    assert call.input["a"] is None
    assert call.input["c"] == 0.1
    assert content is not None
    assert content[0]["toolUse"]["input"] == call.input


def test_an_input_nested_by_the_thousand_is_a_problem() -> None:
    nested: Any = {}
    for _ in range(10_000):
        nested = {"a": nested}
    content, [call] = _clean(use("t1", "echo", nested))
    assert content == [use("t1", "echo", {})]
    assert "nested too deeply" in call.problem


def test_texts_behind_tool_uses_go_before_them_in_their_order() -> None:
    content, _ = _clean({"text": "a"}, use("t1"), {"text": "b"}, use("t2"), {"text": "c"})
    assert content == [{"text": "a"}, {"text": "b"}, {"text": "c"}, use("t1"), use("t2")]


def test_reasoning_stays_as_it_came_before_the_first_tool_use() -> None:
    redacted = {"reasoningContent": {"redactedContent": b"\x00\xff"}}
    blocks = [thought("one", "c2ln"), redacted, {"text": "so"}, use("t1")]
    content, _ = _clean(*copy.deepcopy(blocks))
    assert content == blocks
    interleaved, _ = _clean(thought("one"), use("t1"), thought("two"), use("t2"))
    assert interleaved == [thought("one"), thought("two"), use("t1"), use("t2")]


def test_reasoning_behind_the_answer_is_left_out() -> None:
    assert _clean({"text": "answer"}, thought())[0] == [{"text": "answer"}]


def test_cited_text_is_kept_as_text() -> None:
    cited = {"citationsContent": {"content": [{"text": "Rain "}, {"text": "today."}], "citations": []}}
    assert _clean(cited)[0] == [{"text": "Rain today."}]


@pytest.mark.parametrize(
    "beside", [{}, {"calls": {}}, {"message": [], "calls": []}, {"message": {}, "calls": []}, 5, None]
)
def test_a_block_beside_the_calls_that_is_none_of_ours_does_no_harm(beside: object) -> None:
    message, calls = clean_reply([{"beside": beside}, use("t1")], set(), "m")
    assert message
    assert message["content"] == [use("t1")]
    assert len(calls) == 1
