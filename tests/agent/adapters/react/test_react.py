"""ReActModel: what the wrapped model is sent, and what becomes of its texts."""

from typing import Any

import pytest

from agent.adapters.react.model import ReActModel
from agent.adapters.react.prompt import ENGLISH, JAPANESE
from agent.deadline import Deadline
from agent.errors import ModelError, ModelThrottledError, OutOfTimeError, PromptTooLongError
from agent.messages import Message, tool_result, user_text, visible_text
from agent.ports import ModelReply, ModelRequest
from tests.agent.turn.turns import boom
from tests.fakes import NOVA, FakeClock, FakeModel, Scripted, reply, thought, use

_QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
SEARCH: dict[str, Any] = {"toolSpec": {"name": "search", "inputSchema": {"json": _QUERY}}}
CALL = 'Thought: look\nAction: search\nAction Input: {"query": "x"}'


def _request(*messages: Message) -> ModelRequest:
    return ModelRequest("You help.", list(messages) or [user_text("question")], [SEARCH, boom.spec])


def _asked(*replies: Scripted, request: ModelRequest | None = None) -> tuple[ModelReply, FakeModel]:
    model = FakeModel(replies)
    return ReActModel(model).converse(request or _request(), Deadline.after(60)), model


def _texts(request: ModelRequest) -> list[tuple[str, str]]:
    for message in request.messages:
        assert [list(block) for block in message["content"]] == [["text"]]
    return [(message["role"], message["content"][0]["text"]) for message in request.messages]


def test_without_tools_the_request_goes_through_as_it_is() -> None:
    request = ModelRequest("You help.", [user_text("question")], [])
    answer, model = _asked(reply("Action: plain text"), request=request)
    assert model.requests == [request]
    assert answer == reply("Action: plain text")


def test_an_action_becomes_a_tool_use_with_its_thought_hidden() -> None:
    answer, _ = _asked(reply(CALL, stop_reason="stop_sequence", tokens=8))
    hidden, used = answer.content
    assert visible_text({"role": "assistant", "content": [hidden]}) == ""
    assert "look" in hidden["text"]
    assert (used["toolUse"]["name"], used["toolUse"]["input"]) == ("search", {"query": "x"})
    assert (answer.stop_reason, answer.usage.total, answer.model_id) == ("tool_use", 8, NOVA)


def test_a_final_answer_becomes_a_text_with_its_thought_hidden() -> None:
    answer, _ = _asked(reply("Thought: `easy\nFinal Answer: **42**\n\n`code`", stop_reason="stop_sequence"))
    assert answer.stop_reason == "end_turn"
    assert visible_text({"role": "assistant", "content": list(answer.content)}) == "**42**\n\n`code`"


def test_the_format_in_the_other_language_is_understood() -> None:
    answer, _ = _asked(reply("思考：探す\n行動：search\n行動の入力：{“query”: 1}"), reply("最終回答：四十二"))
    assert answer.content == [{"text": "四十二"}]


def test_ids_are_the_same_for_the_same_conversation_and_different_for_any_other() -> None:
    def _id(text: str, *messages: Message) -> str:
        answer, _ = _asked(reply(text), request=_request(*messages))
        return str(answer.content[-1]["toolUse"]["toolUseId"])

    same = _id(CALL, user_text("question"))
    assert same == _id(CALL, user_text("question"))
    others = {_id(CALL.replace("x", "y"), user_text("question")), _id(CALL, user_text("other"))}
    asked: Message = {"role": "assistant", "content": [use(same, "search", {"query": "x"})]}
    result: Message = {"role": "user", "content": [tool_result(same, "x")]}
    others.add(_id(CALL, user_text("question"), asked, result))
    assert len(others | {same}) == 4


def test_a_malformed_reply_is_sent_back_once_with_what_was_wrong() -> None:
    answer, model = _asked(reply("Thought: t\nAction: search", tokens=4), reply(CALL, tokens=6))
    assert answer.content[-1]["toolUse"]["input"] == {"query": "x"}
    assert answer.usage.total == 10
    assert answer.stop_reason == "tool_use"
    _, second = model.requests
    assert [role for role, _ in _texts(second)] == ["user", "assistant", "user"]
    assert _texts(second)[1] == ("assistant", "Thought: t\nAction: search")
    assert ENGLISH.problems["no_input"] in _texts(second)[2][1]
    assert second.system == model.requests[0].system
    assert second.stop_sequences == model.requests[0].stop_sequences


def test_the_correction_of_a_japanese_question_is_japanese() -> None:
    answer, model = _asked(
        reply("行動: search\n行動の入力: [1]"), reply("思考: 困った"), request=_request(user_text("これは?"))
    )
    assert JAPANESE.problems["no_object"] in _texts(model.requests[1])[2][1]
    assert (answer.content, answer.remark) == ([{"text": "思考: 困った"}], JAPANESE.not_understood)


def test_a_second_malformed_reply_is_answered_honestly() -> None:
    answer, model = _asked(reply("Action: search"), reply("Thought: hm\nAction: search"))
    assert len(model.requests) == 2
    assert (answer.content, answer.remark) == ([{"text": "Thought: hm\nAction: search"}], ENGLISH.not_understood)
    assert answer.stop_reason == "end_turn"


@pytest.mark.parametrize("error", [OutOfTimeError(), PromptTooLongError()])
def test_a_correction_that_can_not_be_made_leaves_an_honest_answer(error: Exception) -> None:
    answer, _ = _asked(reply("Action: search", tokens=4), error)
    assert (answer.content, answer.remark) == ([{"text": "Action: search"}], ENGLISH.not_understood)
    assert answer.usage.total == 4


def test_other_errors_of_a_correction_are_raised_like_those_of_any_call() -> None:
    with pytest.raises(ModelThrottledError):
        _asked(reply("Action: search"), ModelThrottledError())


def test_no_correction_is_asked_for_where_the_time_does_not_allow_another_call() -> None:
    clock = FakeClock()
    model = FakeModel([reply("Action: search")], clock=clock, seconds=6)
    answer = ReActModel(model).converse(_request(), clock.deadline(10))
    assert answer.remark == ENGLISH.not_understood
    assert len(model.requests) == 1


def test_an_empty_reply_stays_empty_so_that_the_loop_can_ask_again() -> None:
    answer, model = _asked(reply(" \n"))
    assert (list(answer.content), len(model.requests)) == ([], 1)


@pytest.mark.parametrize(
    ("text", "stop_reason", "expected"),
    [
        (CALL + "\nObservation: made up and on and", "max_tokens", "tool_use"),
        ("Final Answer: 42\nObservation: on and on", "max_tokens", "end_turn"),
        ("Final Answer: forty-", "max_tokens", "max_tokens"),
        ('Thought: t\nAction: search\nAction Input: {"query": "x', "max_tokens", "max_tokens"),
        ("Action: boom", "model_context_window_exceeded", "model_context_window_exceeded"),
        (CALL, "content_filtered", "content_filtered"),
        ("That is blocked.", "guardrail_intervened", "guardrail_intervened"),
        ("Thought: t\nAction", "malformed_model_output", "malformed_model_output"),
    ],
)
def test_a_reply_that_was_cut_off_says_so_but_for_what_stands_behind_a_whole_step(
    text: str, stop_reason: str, expected: str
) -> None:
    answer, model = _asked(reply(text, stop_reason=stop_reason))
    assert answer.stop_reason == expected
    assert len(model.requests) == 1
    assert not answer.remark


def test_a_request_that_is_refused_for_another_reason_is_not_sent_again() -> None:
    with pytest.raises(ModelError):
        _asked(ModelError(detail="no"))


def test_what_a_reasoning_model_thought_is_left_out() -> None:
    answer, _ = _asked(reply(thought(), "<think>\nAction: boom\n</think>\n\nFinal Answer: 42"))
    assert answer.content == [{"text": "42"}]


def test_half_of_a_surrogate_pair_does_no_harm() -> None:
    answer, model = _asked(reply("Action: \ud83c"), reply('Action: \ud83c\nAction Input: {"a": "\\ud83c"}'))
    assert answer.content[-1]["toolUse"]["name"]
    assert len(model.requests) == 2
