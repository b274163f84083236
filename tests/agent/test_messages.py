"""Converse messages: whatever was stored is repaired to the rules, and what a person sees is clean."""

import copy
import json
import time
from typing import Any

import pytest
from hypothesis import given

from agent.deadline import Deadline
from agent.messages import (
    NO_ANSWER,
    Message,
    Usage,
    assistant_text,
    clean_json,
    clean_text,
    tool_result,
    unique_id,
    user_text,
    visible_text,
    with_sentence,
)
from agent.ports import ModelRequest
from agent.turn.repair import INTERRUPTED, repair
from tests.agent.turn.strategies import EXAMPLES, JSON, STORED_MESSAGES
from tests.fakes import FAMILIES, FakeModel, judge, reply, thought, use, wire_body


def _says(*blocks: Any) -> Message:
    return {"role": "assistant", "content": [{"text": b} if isinstance(b, str) else b for b in blocks]}


def _results(*blocks: Any) -> Message:
    return {"role": "user", "content": list(blocks)}


def _judge(messages: list[Message]) -> None:
    request = ModelRequest("system", messages, [])
    for model_id in FAMILIES:
        judge(model_id, wire_body(request, model_id))


@EXAMPLES
@given(STORED_MESSAGES)
def test_any_list_of_messages_is_repaired_to_a_turn_that_every_model_takes(messages: list[Any]) -> None:
    before = repr(messages)
    repaired = repair(messages, set())
    assert repr(messages) == before
    if repaired:
        _judge([*repaired, user_text("next")])
        assert repair(repaired, set()) == repaired


@EXAMPLES
@given(STORED_MESSAGES)
def test_a_repaired_open_turn_can_be_gone_on_with(messages: list[Any]) -> None:
    repaired = repair(messages, set(), closed=False)
    if repaired:
        _judge(repaired if repaired[-1]["role"] == "user" else [*repaired, user_text("next")])
        assert repair(repaired, set(), closed=False) == repaired


@EXAMPLES
@given(STORED_MESSAGES, STORED_MESSAGES)
def test_two_repaired_turns_go_together(first: list[Any], second: list[Any]) -> None:
    seen: set[str] = set()
    turns = [*repair(first, seen), *repair(second, seen)]
    if turns:
        _judge([*turns, user_text("next")])


@EXAMPLES
@given(JSON)
def test_any_json_value_is_repaired_without_an_error(value: Any) -> None:
    assert isinstance(repair(value, set()), list)
    assert repair([value], set()) == []


def test_nesting_of_ten_thousand_is_repaired_without_an_error() -> None:
    nested: Any = {}
    for _ in range(10_000):
        nested = {"a": [nested]}
    deep_result = {"toolResult": {"toolUseId": "t1", "content": [{"json": nested}], "status": "success"}}
    _judge([*repair([user_text("q"), _says(use("t1", "echo", nested)), _results(deep_result)], set()), user_text("n")])


def test_a_valid_turn_is_left_as_it_is() -> None:
    turn = [
        user_text("q"),
        _says("let me see", use("t1", "echo", {"a": [1, 0.1, True, None, "東京"]}), use("t2", "echo")),
        _results(
            {"toolResult": {"toolUseId": "t1", "content": [{"json": {"n": 5.0}}], "status": "success"}},
            tool_result("t2", "no"),
        ),
        _says("done"),
    ]
    assert repair(copy.deepcopy(turn), set()) == turn


@pytest.mark.parametrize("closed", [True, False])
def test_a_crash_between_tool_use_and_result_is_told_as_interrupted(closed: bool) -> None:
    repaired = repair([user_text("q"), _says(use("t1"))], set(), closed=closed)
    assert repaired[2] == _results(tool_result("t1", INTERRUPTED))
    assert repaired[3:] == ([assistant_text(NO_ANSWER)] if closed else [])
    assert "unknown" in INTERRUPTED
    assert "not run again" in INTERRUPTED


def test_a_missing_result_of_several_is_told_as_interrupted_in_the_same_message() -> None:
    repaired = repair([user_text("q"), _says(use("t1"), use("t2")), _results(tool_result("t2", "kept"))], set())
    assert repaired[2] == _results(tool_result("t1", INTERRUPTED), tool_result("t2", "kept"))


def test_a_result_without_its_tool_use_is_dropped() -> None:
    repaired = repair([_results(tool_result("t1", "x")), _says("a"), user_text("q"), _says("b")], set())
    assert repaired == [user_text("q"), _says("b")]


def test_a_turn_whose_answer_is_missing_ends_with_the_models_message() -> None:
    assert repair([user_text("q")], set()) == [user_text("q"), assistant_text(NO_ANSWER)]


def test_blank_texts_empty_messages_and_unknown_blocks_are_dropped() -> None:
    messages = [
        user_text("q"),
        {"role": "assistant", "content": []},
        _says("\n", {"SDK_UNKNOWN_MEMBER": {"name": "x"}}, "ok"),
        {"role": "system", "content": [{"text": "obey"}]},
    ]
    assert repair(messages, set()) == [user_text("q"), _says("ok")]


def test_reasoning_is_not_kept_beyond_its_turn() -> None:
    redacted = {"reasoningContent": {"redactedContent": b"\x00\xff"}}
    assert repair([user_text("q"), _says(thought(), redacted, "a")], set()) == [user_text("q"), _says("a")]


def test_ids_that_come_again_in_later_turns_are_replaced_together_with_their_results() -> None:
    turn = [user_text("q"), _says(use("t1")), _results(tool_result("t1", "x")), _says("a")]
    seen: set[str] = set()
    first, second = repair(turn, seen), repair(turn, seen)
    assert first[1]["content"][0]["toolUse"]["toolUseId"] == "t1"
    again = second[1]["content"][0]["toolUse"]["toolUseId"]
    assert again != "t1"
    assert second[2]["content"][0]["toolResult"]["toolUseId"] == again


def test_two_uses_with_one_id_keep_their_results_in_order() -> None:
    messages = [
        user_text("q"),
        _says(use("t1"), use("t1")),
        _results(tool_result("t1", "first"), tool_result("t1", "second")),
    ]
    texts = [block["toolResult"]["content"][0]["text"] for block in repair(messages, set())[2]["content"]]
    assert texts == ["first", "second"]


def test_thousands_of_equal_ids_become_unique_in_little_time() -> None:
    began = time.perf_counter()
    seen: set[str] = set()
    ids = [unique_id("t1", seen) for _ in range(4_000)]
    assert len(set(ids)) == 4_000
    assert all(len(each) <= 64 for each in ids)
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<thinking>plan</thinking>\nAnswer", "Answer"),
        ("<thinking>a</thinking>One <thinking>b\nc</thinking>two", "One two"),
        ("<thinking>only</thinking>", ""),
        ("<thinking>never closed", "<thinking>never closed"),
        ("no opening</thinking>", "no opening</thinking>"),
        ("```xml\n<thinking>asked for</thinking>\n```", "```xml\n<thinking>asked for</thinking>\n```"),
        ("use `<thinking>x</thinking>` so", "use `<thinking>x</thinking>` so"),
        ("  plain  ", "plain"),
    ],
)
def test_complete_pairs_of_thinking_tags_are_not_shown(text: str, shown: str) -> None:
    assert visible_text(_says(text)) == shown


def test_thinking_tags_by_the_thousand_take_little_time() -> None:
    began = time.perf_counter()
    visible_text(_says("<thinking>" * 6_000))
    assert time.perf_counter() - began < 1


def test_only_texts_are_shown() -> None:
    assert visible_text(_says(thought(), "one", use("t1"), "two")) == "one\ntwo"


def test_a_sentence_is_added_to_the_last_result_and_nothing_is_changed_in_place() -> None:
    message = _results(tool_result("t1", "a"), tool_result("t2", "b"))
    before = copy.deepcopy(message)
    added = with_sentence(message, "Conclude.")
    assert message == before
    assert added["content"][0] == before["content"][0]
    assert added["content"][1]["toolResult"]["content"] == [{"text": "b"}, {"text": "Conclude."}]


def test_a_sentence_behind_a_question_is_a_text_of_its_own() -> None:
    assert with_sentence(user_text("q"), "Again.")["content"] == [{"text": "q"}, {"text": "Again."}]


@EXAMPLES
@given(JSON)
def test_cleaned_json_is_strict_json_in_utf8_and_cleaning_it_again_changes_nothing(value: Any) -> None:
    cleaned = clean_json(value)
    assert json.loads(json.dumps(cleaned, allow_nan=False, ensure_ascii=False).encode()) == cleaned
    assert clean_json(cleaned) == cleaned


@pytest.mark.parametrize(
    "value", [5, 5.0, True, None, "5", 0.1, 1e-7, 2**53 + 1, 2**64, -(10**21), 10**308 - 1, {"a": [1, {"b": 1.0}]}]
)
def test_cleaning_keeps_values_and_types(value: object) -> None:
    assert repr(clean_json(value)) == repr(value)


def test_an_integer_that_no_double_could_hold_becomes_a_text() -> None:
    assert clean_json([2**1024, -(10**5000)]) == [hex(2**1024), hex(-(10**5000))]


@pytest.mark.parametrize("value", [b"x", {1, 2}, {1: "a"}, object()])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not JSON"):
        clean_json(value)


def test_half_a_surrogate_pair_is_replaced_and_a_whole_emoji_is_not() -> None:
    assert clean_text("a\ud83c") == "a\ufffd"
    assert clean_text("東京は晴れ🌞") == "東京は晴れ🌞"


def test_usage_adds_up() -> None:
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)
    assert Usage(1, 2, 3, 4).total == 3


def test_a_repaired_history_is_taken_by_the_model() -> None:
    model = FakeModel([reply("ok")])
    messages = [*repair([user_text("q"), _says(use("t1"))], set()), user_text("hello")]
    assert model.converse(ModelRequest("", messages, []), Deadline.after(1)).content == [{"text": "ok"}]
