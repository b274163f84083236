"""The fake model itself: it copies what it gets, and no request that Bedrock would refuse gets past it."""

import pytest

from agent.deadline import Deadline
from agent.errors import ModelThrottledError
from agent.messages import Message, user_text
from agent.ports import ModelRequest
from tests.fakes import FakeModel, FakeStore, asks, reply, thought, use, wire_body

_FAILED = pytest.fail.Exception


def _ask(model: FakeModel, *messages: Message) -> object:
    return model.converse(ModelRequest("system", list(messages), []), Deadline.after(1))


def test_a_request_is_kept_as_it_was_sent() -> None:
    model = FakeModel([reply("one"), reply("two")])
    messages = [user_text("question")]
    request = ModelRequest("system", messages, [])
    model.converse(request, Deadline.after(1))
    messages.append(user_text("later"))
    messages[0]["content"][0]["text"] = "changed"
    assert model.requests[0].messages == [user_text("question")]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [user_text(" ")],
        [{"role": "assistant", "content": [{"text": "hello"}]}],
        [user_text("a"), user_text("b")],
        [user_text("a"), {"role": "assistant", "content": [use("t1")]}, user_text("b")],
        [user_text("a"), {"role": "assistant", "content": []}, user_text("b")],
    ],
)
def test_a_request_that_bedrock_refuses_ends_the_test(messages: list[Message]) -> None:
    with pytest.raises(_FAILED, match="would refuse"):
        _ask(FakeModel([reply("never")]), *messages)


def test_reasoning_that_was_lost_on_the_way_back_ends_the_test() -> None:
    model = FakeModel([asks(thought(), use("t1")), reply("never")])
    _ask(model, user_text("a"))
    asked: Message = {"role": "assistant", "content": [use("t1")]}
    result = {"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}], "status": "success"}}
    with pytest.raises(_FAILED, match="R-KEPT"):
        _ask(model, user_text("a"), asked, {"role": "user", "content": [result]})


def test_errors_and_functions_of_the_script_are_played_in_order() -> None:
    model = FakeModel([ModelThrottledError(), lambda request, deadline: reply(str(len(request.messages)))])
    with pytest.raises(ModelThrottledError):
        _ask(model, user_text("a"))
    assert _ask(model, user_text("a")) == reply("1")


def test_a_call_beyond_the_script_ends_the_test() -> None:
    with pytest.raises(_FAILED, match="more often"):
        _ask(FakeModel([]), user_text("a"))


def test_an_error_of_the_store_is_raised_once() -> None:
    store = FakeStore()
    store.fails["load"].append(ModelThrottledError())
    with pytest.raises(ModelThrottledError):
        store.load("s", 1, 0, Deadline.after(1))
    assert store.load("s", 1, 0, Deadline.after(1)) == []


def test_a_body_without_system_and_tools_has_neither() -> None:
    body = wire_body(ModelRequest("  ", [user_text("a")], []), "amazon.nova-pro-v1:0")
    assert body.keys() == {"messages", "inferenceConfig"}
