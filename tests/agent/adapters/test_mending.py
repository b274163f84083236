"""A model that refuses part of a request is asked without it, now and from then on; what is left is valid for every family."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from agent.adapters.mending import MendingModel
from agent.deadline import Deadline
from agent.errors import ModelError
from agent.messages import Message, assistant_text, tool_result, tool_uses, user_text
from agent.ports import ModelReply, ModelRequest
from agent.turn.telling import Telling
from tests.agent.turn.turns import echo, make_turn
from tests.fakes import FakeJournal, FakeModel, Heard, reply, use

BESIDE: dict[str, Any] = {"message": {"reasoning_content": "hm"}, "calls": {}}
HISTORY: list[Message] = [
    user_text("What are both?"),
    {"role": "assistant", "content": [{"text": "Let me see."}, use("tooluse_0flBm4xyz"), use("abcdefg00_2")]},
    {
        "role": "user",
        "content": [tool_result("tooluse_0flBm4xyz", "one", "success"), tool_result("abcdefg00_2", "two")],
    },
    assistant_text("One and two."),
    user_text("And a third?"),
    {"role": "assistant", "content": [use("abcdefghi")], "model": "m", "beside": BESIDE},
    {"role": "user", "content": [tool_result("abcdefghi", "three", "success")]},
]
REQUEST = ModelRequest("Be brief.", HISTORY, [echo.spec], stop_sequences=["END"])


def asked(*remedies: str, request: ModelRequest = REQUEST) -> tuple[list[ModelRequest], FakeJournal]:
    """What is sent to a model that refuses these, and what was told of it. Asked twice, so that what is learned shows."""
    journal = FakeJournal()
    model = FakeModel([*(ModelError(detail="no", remedies=(each,)) for each in remedies), reply("a"), reply("b")])
    mending = MendingModel(model, journal.warning)
    for _ in range(2):
        mending.converse(request, Deadline.after(9))
    return model.requests, journal


def ids(messages: Sequence[Message]) -> list[str]:
    kinds = ("toolUse", "toolResult")
    return [block[kind]["toolUseId"] for m in messages for block in m["content"] for kind in kinds if kind in block]


def texts(messages: Sequence[Message]) -> list[str]:
    return [" ".join(block.get("text", "-") for block in message["content"]) for message in messages]


def test_what_is_not_refused_is_sent_as_it_is() -> None:
    requests, journal = asked()
    assert requests == [REQUEST, REQUEST]
    assert journal.warnings == []


@pytest.mark.parametrize(
    "remedy",
    [
        "ids",
        "single_calls",
        "unexplained_calls",
        "text_beside_calls",
        "tool_messages",
        "extras",
        "system",
        "stop",
        "sampling",
    ],
)
def test_each_change_is_made_at_once_and_from_then_on_and_told_once(remedy: str) -> None:
    (first, second, third), journal = asked(remedy)
    assert first == REQUEST
    assert second == third != REQUEST
    [(_, fields)] = journal.warnings
    assert fields == {"model": FakeModel([]).model_id, "form": remedy, "detail": "no"}


def test_ids_become_nine_letters_and_digits_that_are_unique_and_stay_the_same() -> None:
    (_, second, _), _ = asked("ids")
    names = ids(second.messages)
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", name) for name in names)
    assert [names.index(name) for name in names] == [0, 1, 0, 1, 4, 4]
    assert names[-1] == "abcdefghi"


def test_parallel_calls_become_one_after_the_other_each_with_its_result() -> None:
    (_, second, _), _ = asked("single_calls")
    assert all(len(tool_uses(message)) < 2 for message in second.messages)
    assert ids(second.messages) == [name for name in ids(HISTORY)[:2] for _ in range(2)] + ["abcdefghi"] * 2
    assert texts(second.messages)[1:4:2] == ["Let me see. -", "-"]
    assert second.messages[-2:] == HISTORY[-2:]


def test_calls_and_results_are_told_in_words() -> None:
    (_, second, _), _ = asked("tool_messages")
    assert ids(second.messages) == []
    assert texts(second.messages)[1:3] == [
        "Let me see. [The tool echo was called with {}] [The tool echo was called with {}]",
        "[The tool echo gave:] one [The tool echo failed:] two",
    ]


def test_calls_without_the_reasons_of_the_model_are_told_in_words_and_others_left() -> None:
    (_, second, _), _ = asked("unexplained_calls")
    assert ids(second.messages) == ["abcdefghi", "abcdefghi"]
    assert second.messages[-2:] == HISTORY[-2:]


def test_a_system_text_stands_before_the_first_question() -> None:
    (_, second, _), _ = asked("system")
    assert (second.system, texts(second.messages)[0]) == ("", "Be brief. What are both?")


def test_text_beside_calls_and_what_a_server_sent_beside_them_can_be_left_out() -> None:
    assert texts(asked("text_beside_calls")[0][1].messages)[1] == "- -"
    assert "beside" not in json.dumps(asked("extras")[0][1].messages)


def test_stop_sequences_and_sampling_can_be_left_out() -> None:
    assert asked("stop")[0][1] == replace(REQUEST, stop_sequences=())
    assert asked("sampling")[0][1] == replace(REQUEST, sampling=False)


def test_several_things_can_be_refused_one_after_the_other() -> None:
    requests, journal = asked("single_calls", "ids", "system", "stop")
    assert len(requests) == 6
    assert len(journal.warnings) == 4
    assert requests[-1].system == ""


@pytest.mark.parametrize("remedies", [(), ("ids",), ("single_calls", "tool_messages", "system")])
def test_a_refusal_that_nothing_can_mend_is_raised(remedies: tuple[str, ...]) -> None:
    model = FakeModel([ModelError(remedies=remedies)])
    with pytest.raises(ModelError):
        MendingModel(model, FakeJournal().warning).converse(ModelRequest("", [user_text("hi")], []), Deadline.after(9))
    assert len(model.requests) == 1


def test_a_remedy_that_did_not_help_is_not_tried_again() -> None:
    model = FakeModel([ModelError(remedies=("system",))] * 3)
    mending = MendingModel(model, FakeJournal().warning)
    for _ in range(2):
        with pytest.raises(ModelError):
            mending.converse(REQUEST, Deadline.after(9))
    assert len(model.requests) == 3


def test_where_the_likeliest_remedy_does_not_fit_the_next_is_taken() -> None:
    request = ModelRequest("Be brief.", [user_text("hi")], [])
    model = FakeModel([ModelError(remedies=("tool_messages", "system")), reply("a")])
    MendingModel(model, FakeJournal().warning).converse(request, Deadline.after(9))
    assert model.requests[1].system == ""


def test_a_malformed_call_is_told_to_the_model_once() -> None:
    refused = ModelError(detail="parameters for tool echo did not match schema", remedies=("tell",))
    model = FakeModel([refused, reply("done")])
    outcome = make_turn(MendingModel(model, FakeJournal().warning)).run()
    assert (outcome.answer, outcome.steps) == ("done", 2)
    assert "did not match schema" in str(model.requests[1].messages)
    assert "did not match schema" not in str(outcome.messages)


def test_a_malformed_call_that_is_made_again_ends_the_turn_without_the_servers_words() -> None:
    model = FakeModel([ModelError(detail="SECRET", remedies=("tell",))] * 2)
    outcome = make_turn(MendingModel(model, FakeJournal().warning)).run()
    assert outcome.stop_reason == "malformed_tool_use"
    assert "malformed" in outcome.answer
    assert "SECRET" not in outcome.answer


def test_a_model_that_can_not_stream_is_asked_for_whole_answers() -> None:
    heard: list[bool] = []

    class Streams(FakeModel):
        def converse(self, request: ModelRequest, deadline: Deadline, listener: Any = None) -> ModelReply:
            heard.append(listener is not None)
            if listener:
                raise ModelError(remedies=("streaming",))
            return super().converse(request, deadline)

    mending = MendingModel(Streams([reply("a"), reply("b")]), FakeJournal().warning)
    for _ in range(2):
        mending.converse(REQUEST, Deadline.after(9), Telling(Heard()))
    assert heard == [True, False, False]
