"""Another model is asked where one fails, and the turn stays with it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from agent.deadline import Deadline
from agent.errors import (
    AgentError,
    MisconfiguredError,
    ModelError,
    ModelThrottledError,
    ModelUnavailableError,
    OutOfTimeError,
    PromptTooLongError,
)
from agent.messages import Block, Message, tool_result, user_text
from agent.ports import ModelRequest
from agent.turn.fallback import Fallback
from agent.turn.outcome import Outcome
from tests.agent.turn.turns import echo, make_turn, spy
from tests.fakes import FABLE, FakeClock, FakeJournal, FakeModel, asks, reply, thought, use

FALLS_BACK = (ModelThrottledError, ModelUnavailableError, ModelError, partial(MisconfiguredError, another_may_do=True))
FIRST, SECOND = thought("first é", "b25l"), thought("second", "dHdv")
REDACTED: Block = {"reasoningContent": {"redactedContent": b"\x00\xff"}}


class Named(FakeModel):
    """A model that says who it is."""

    def __init__(self, name: str, *replies: Any, **more: Any) -> None:
        super().__init__(replies, **more)
        self.model_id = name


def run(*models: FakeModel, tools: Sequence[Any] = (), deadline: Deadline | None = None) -> Outcome:
    fallback = Fallback(models, FakeJournal())
    return make_turn(fallback, *([tools] if tools else []), deadline=deadline).run()


def thoughts(model: FakeModel, request: int) -> list[Block]:
    blocks = [block for message in model.requests[request].messages for block in message["content"]]
    return [block for block in blocks if "reasoningContent" in block]


@pytest.mark.parametrize("error", FALLS_BACK)
def test_the_next_model_is_asked_where_one_fails(error: Callable[[], AgentError]) -> None:
    first, second, third = Named("a", error()), Named("b", reply("hello")), Named("c")
    outcome = run(first, second, third)
    assert (outcome.answer, outcome.steps) == ("hello", 1)
    assert [len(model.requests) for model in (first, second, third)] == [1, 1, 0]
    assert second.requests == first.requests


def test_models_are_tried_in_their_order() -> None:
    first, second = Named("a", ModelThrottledError()), Named("b", ModelUnavailableError())
    third = Named("c", reply("hello"))
    assert run(first, second, third).answer == "hello"
    assert [len(model.requests) for model in (first, second, third)] == [1, 1, 1]


@pytest.mark.parametrize("error", [MisconfiguredError, OutOfTimeError, PromptTooLongError])
def test_no_other_model_is_asked_for_what_it_could_not_mend(error: type[AgentError]) -> None:
    second = Named("b")
    with pytest.raises(error):
        run(Named("a", error()), second)
    assert second.requests == []


def test_where_all_fail_the_last_ones_error_counts() -> None:
    models = Named("a", ModelThrottledError("one")), Named("b", ModelError("two")), Named("c", ModelUnavailableError())
    with pytest.raises(ModelUnavailableError):
        run(*models)


def test_no_other_model_is_asked_once_the_time_is_over() -> None:
    clock = FakeClock()
    second = Named("b")
    with pytest.raises(ModelUnavailableError):
        run(Named("a", ModelUnavailableError(), clock=clock, seconds=30), second, deadline=clock.deadline(30))
    assert second.requests == []


def test_every_model_gets_the_turns_own_deadline() -> None:
    clock, left = FakeClock(), list[float]()

    def answer(request: ModelRequest, deadline: Deadline) -> Any:
        left.append(deadline.left())
        return reply("hello")

    run(Named("a", ModelUnavailableError(), clock=clock, seconds=10), Named("b", answer), deadline=clock.deadline(30))
    assert left == [20]


def test_the_turn_stays_with_the_model_that_answered() -> None:
    first = Named("a", ModelThrottledError())
    second = Named("b", asks(use("t1")), asks(use("t2")), reply("done"))
    assert run(first, second).steps == 3
    assert (len(first.requests), len(second.requests)) == (1, 3)


def test_the_next_turn_begins_with_the_first_model_again() -> None:
    first, second = Named("a", ModelThrottledError(), reply("back")), Named("b", reply("hello"))
    assert [run(first, second).answer, run(first, second).answer] == ["hello", "back"]


def test_reasoning_of_one_model_never_goes_to_the_next() -> None:
    first = Named("a", asks(FIRST, REDACTED, "Let me see.", use("t1")), ModelThrottledError())
    second = Named("b", reply("done"))
    assert run(first, second).answer == "done"
    assert thoughts(first, 1) == [FIRST, REDACTED]
    assert thoughts(second, 0) == []
    assert second.requests[0].messages[1]["content"] == [{"text": "Let me see."}, use("t1")]


def test_the_next_models_own_reasoning_is_kept_within_the_turn() -> None:
    first = Named("a", asks(FIRST, use("t1")), ModelError(), model_ids=[FABLE])
    second = Named("b", asks(SECOND, REDACTED, use("t2")), asks(use("t3")), reply("done"), model_ids=[FABLE])
    assert run(first, second).answer == "done"
    assert thoughts(second, 1) == thoughts(second, 2) == [SECOND, REDACTED]


def test_a_third_model_gets_the_reasoning_of_neither() -> None:
    first = Named("a", asks(FIRST, use("t1")), ModelError())
    second = Named("b", asks(SECOND, use("t2")), ModelThrottledError())
    third = Named("c", reply("done"))
    assert run(first, second, third).answer == "done"
    assert thoughts(third, 0) == []


def test_side_effects_are_not_made_twice() -> None:
    tool, calls = spy("send", side_effects=True)
    first = Named("a", asks(use("t1", "send", {"path": "x"})), ModelUnavailableError())
    second = Named("b", reply("sent"))
    assert run(first, second, tools=[tool]).answer == "sent"
    assert calls == ["x"]
    assert second.requests[0].messages[-1]["content"][0]["toolResult"]["status"] == "success"


def test_what_was_asked_of_a_model_is_asked_of_the_next() -> None:
    second = Named("b", reply("hello"))
    request = ModelRequest("Be brief.", [user_text("hi")], [], stop_sequences=["Observation:"])
    Fallback([Named("a", ModelError()), second], FakeJournal()).converse(request, Deadline.after(10))
    assert second.requests == [request]


def test_the_change_is_told_without_account_or_content() -> None:
    journal = FakeJournal()
    arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"
    models = Named(arn, ModelThrottledError(detail="slow down")), Named("b", reply("hello"))
    make_turn(Fallback(models, journal)).run()
    ((message, fields),) = journal.warnings
    assert message == "another model is asked"
    assert fields == {"model": "abc", "code": "model_throttled", "detail": "slow down"}


def marked(model: str) -> list[Message]:
    """A turn that this model began, as it is stored while it waits or before a side effect, and went on."""
    asked: Message = {"role": "assistant", "content": [FIRST, use("t1")], "model": model}
    return [user_text("question"), asked, {"role": "user", "content": [tool_result("t1", "sent", "success")]}]


@pytest.mark.parametrize("wrote", ["a", "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a"])
def test_a_stored_turn_that_goes_on_with_its_own_model_has_its_reasoning(wrote: str) -> None:
    first = Named(wrote, reply("done"), model_ids=[FABLE])
    request = ModelRequest("", marked("a"), [echo.spec])
    Fallback([first], FakeJournal()).converse(request, Deadline.after(9))
    assert thoughts(first, 0) == [FIRST]


def test_a_stored_turn_that_goes_on_with_another_model_has_none_of_it_and_its_tool_loop_is_closed() -> None:
    second = Named("b", asks(SECOND, use("t2")), reply("done"), model_ids=[FABLE])
    turn = make_turn(Fallback([second], FakeJournal()), [echo])
    turn.messages = marked("a")
    assert turn.run().answer == "done"
    assert thoughts(second, 0) == []
    assert thoughts(second, 1) == [SECOND]
    roles = [message["role"] for message in second.requests[0].messages]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert second.requests[1].messages[:5] == second.requests[0].messages
