"""Limits of a turn: near one the model is asked to conclude, at one the turn ends with an honest answer."""

import itertools

import pytest

from agent.errors import OutOfTimeError
from agent.ports import ModelReply
from agent.turn.loop import CONCLUDE, Limits
from agent.turn.outcome import Outcome
from agent.turn.repair import repair
from tests.agent.turn.turns import Notes, ask_again, make_turn, spy
from tests.fakes import FakeClock, FakeModel, asks, reply, use


def _timed(replies: list[ModelReply | BaseException], seconds: float, total: float) -> tuple[FakeModel, Outcome]:
    clock = FakeClock()
    model = FakeModel(replies, clock=clock, seconds=seconds)
    return model, make_turn(model, deadline=clock.deadline(total)).run()


def _hints(model: FakeModel) -> list[bool]:
    return [CONCLUDE in str(request.messages[-1]) for request in model.requests]


def test_no_call_is_made_that_could_take_longer_than_what_is_left() -> None:
    _, outcome = _timed([asks("So far: 1.", use("t1"))], seconds=5, total=8)
    assert (outcome.stop_reason, outcome.steps, outcome.tool_records) == ("deadline", 1, [])
    assert "So far: 1." in outcome.answer
    assert "time" in outcome.answer
    ask_again([repair(outcome.messages, set())])


def test_a_call_that_could_take_exactly_what_is_left_is_not_made() -> None:
    _, outcome = _timed([asks(use("t1")), reply("never")], seconds=5, total=10)
    assert (outcome.stop_reason, outcome.steps) == ("deadline", 1)


def test_the_model_is_asked_to_conclude_when_the_time_is_for_one_more_call() -> None:
    model, outcome = _timed([asks(use("t1")), reply("concluded")], seconds=5, total=12)
    assert _hints(model) == [False, True]
    assert (outcome.answer, outcome.stop_reason) == ("concluded", "end_turn")
    assert CONCLUDE not in str(outcome.messages)


def test_the_longest_call_counts_and_not_the_last() -> None:
    clock = FakeClock()

    def slow(*_: object) -> ModelReply:
        clock.advance(20)
        return asks(use("t1"))

    def quick(*_: object) -> ModelReply:
        clock.advance(5)
        return asks(use("t2"))

    model = FakeModel([slow, quick, reply("concluded")], clock=clock)
    outcome = make_turn(model, deadline=clock.deadline(62)).run()
    assert _hints(model) == [False, False, True]
    assert outcome.answer == "concluded"


def test_with_time_enough_nothing_is_added() -> None:
    model, outcome = _timed([asks(use("t1")), asks(use("t2")), reply("done")], seconds=5, total=60)
    assert _hints(model) == [False, False, False]
    assert outcome.stop_reason == "end_turn"


def test_a_model_that_asks_for_more_when_told_to_conclude_gets_no_tool_run() -> None:
    save, calls = spy("save")
    clock = FakeClock()
    script = [asks(use("t1", "save")), asks("Nearly.", use("t2", "save"))]
    model = FakeModel(script, clock=clock, seconds=5)
    outcome = make_turn(model, [save], deadline=clock.deadline(12)).run()
    assert len(calls) == 1
    assert outcome.stop_reason == "deadline"
    assert "Nearly." in outcome.answer
    assert "not run" in outcome.answer


def test_running_out_of_time_in_the_first_call_is_an_error() -> None:
    clock = FakeClock()
    with pytest.raises(OutOfTimeError):
        make_turn(FakeModel([OutOfTimeError()]), deadline=clock.deadline(5)).run()


def test_running_out_of_time_in_a_later_call_is_an_answer() -> None:
    _, outcome = _timed([asks("I looked.", use("t1")), OutOfTimeError()], seconds=1, total=60)
    assert (outcome.stop_reason, outcome.steps) == ("deadline", 1)
    assert "I looked." in outcome.answer
    assert [record.status for record in outcome.tool_records] == ["success"]
    ask_again([repair(outcome.messages, set())])


def test_the_first_call_is_made_however_little_time_is_left() -> None:
    _, outcome = _timed([reply("quick")], seconds=0, total=0.001)
    assert outcome.answer == "quick"


def test_tools_leave_the_time_that_a_model_call_takes() -> None:
    clock = FakeClock()
    notes = Notes()
    save, calls = spy("save")

    def no_time_for_tools(*_: object) -> ModelReply:
        clock.advance(4)
        return asks(use("t1", "save"))

    model = FakeModel([no_time_for_tools, reply("concluded")], clock=clock)
    turn = make_turn(model, [save], deadline=clock.deadline(10), notes=notes)
    ends = []
    make_context = turn.make_context

    def remember(call: object, end: object) -> object:
        ends.append(end)
        return make_context(call, end)  # type: ignore[arg-type]

    turn.make_context = remember  # type: ignore[assignment]
    assert turn.run().answer == "concluded"
    assert calls == [""]
    assert ends[0].left() == pytest.approx(2)  # type: ignore[attr-defined]


@pytest.mark.parametrize("steps", [1, 2, 3, 7])
def test_the_step_limit_counts_every_model_call(steps: int) -> None:
    model = FakeModel(itertools.repeat(asks(use("t1"))))
    outcome = make_turn(model, limits=Limits(max_steps=steps)).run()
    assert (outcome.stop_reason, outcome.steps, len(model.requests)) == ("step_limit", steps, steps)
    assert _hints(model) == [False] * (steps - 1) + [steps > 1]
    assert len(outcome.tool_records) == steps - 1
    assert outcome.answer.strip()
    ask_again([repair(outcome.messages, set())])


def test_a_model_that_concludes_at_the_last_step_gives_an_ordinary_answer() -> None:
    outcome = make_turn(FakeModel([asks(use("t1")), reply("done")]), limits=Limits(max_steps=2)).run()
    assert (outcome.answer, outcome.stop_reason) == ("done", "end_turn")


def test_the_conclusion_is_asked_for_with_the_same_tools_and_system() -> None:
    model = FakeModel([asks(use("t1")), reply("done")])
    make_turn(model, limits=Limits(max_steps=2)).run()
    first, last = model.requests
    assert (last.system, last.tools, last.messages[:1]) == (first.system, first.tools, first.messages)


def test_an_empty_last_step_is_not_tried_again() -> None:
    outcome = make_turn(FakeModel([reply()]), limits=Limits(max_steps=1)).run()
    assert outcome.steps == 1
    assert outcome.answer.strip()


def test_the_model_is_asked_to_conclude_when_the_tokens_are_for_one_more_call() -> None:
    model = FakeModel([asks(use("t1"), tokens=60), reply("concluded", tokens=60)])
    outcome = make_turn(model, limits=Limits(turn_token_limit=100)).run()
    assert _hints(model) == [False, True]
    assert (outcome.answer, outcome.stop_reason, outcome.usage.total) == ("concluded", "end_turn", 120)


def test_when_the_tokens_are_used_up_no_tool_is_run_and_no_call_made() -> None:
    save, calls = spy("save")
    model = FakeModel([asks("So far.", use("t1", "save"), tokens=60)])
    outcome = make_turn(model, [save], limits=Limits(turn_token_limit=60)).run()
    assert (outcome.stop_reason, outcome.steps, calls) == ("token_limit", 1, [])
    assert "So far." in outcome.answer
    assert "tokens" in outcome.answer
    ask_again([repair(outcome.messages, set())], [save])


def test_an_answer_that_exceeds_the_token_limit_is_given_all_the_same() -> None:
    outcome = make_turn(FakeModel([reply("paid for", tokens=500)]), limits=Limits(turn_token_limit=100)).run()
    assert (outcome.answer, outcome.stop_reason) == ("paid for", "end_turn")
