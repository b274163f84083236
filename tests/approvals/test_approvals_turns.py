"""A turn that waited is one turn: its reasoning, its figures and its limits go on, whatever ends it."""

import json

import pytest

from agent.errors import ModelThrottledError
from agent.turn.loop import Limits
from tests.approvals.office import Office, thinking_refund
from tests.fakes import asks, reply, use


def test_one_turn_can_wait_several_times_and_its_figures_add_up(office: Office) -> None:
    office.ask(asks(use("t0", "look"), tokens=6), asks(use("t1", "refund", {"order": "1"}), tokens=10))
    second = office.approve(asks(use("t2", "refund", {"order": "2"}), tokens=20), t1=True)
    assert (second["stop_reason"], second["steps"], second["turn"]) == ("awaiting_approval", 3, 1)
    assert [each["tool_use_id"] for each in second["approvals"]] == ["t2"]
    last = office.approve(reply("Done.", tokens=40), t2=True)
    assert (last["steps"], last["usage"]["input_tokens"], last["usage"]["output_tokens"]) == (4, 38, 38)
    assert [used["name"] for used in last["tool_uses"]] == ["look", "refund", "refund"]
    assert office.ran == ["look", "refund 1 1", "refund 2 1"]
    assert sorted(office.decisions()) == ["t1", "t2"]
    assert office.item()["usage"] == last["usage"]
    office.goes_on()


def test_a_yes_is_good_for_one_call_only(office: Office) -> None:
    office.wait()
    answer = office.approve(asks(use("t1", "refund", {"order": "7"})), t1=True)
    assert answer["stop_reason"] == "awaiting_approval"  # the very same call, under the same id
    (asked,) = answer["approvals"]
    assert asked["tool_use_id"] != "t1"
    assert office.ran == ["refund 7 1"]


def test_reasoning_comes_back_to_the_byte_in_its_place(office: Office) -> None:
    office.ask(thinking_refund())
    office.approve(reply("Done."), t1=True)
    assert office.model.requests[-1].messages[1]["content"] == list(thinking_refund().content)
    office.goes_on()


def test_reasoning_between_texts_keeps_its_place(office: Office) -> None:
    first, redacted, text, call = thinking_refund().content
    office.ask(asks(first, text, redacted, call))
    office.approve(reply("Done."), t1=True)
    assert office.model.requests[-1].messages[1]["content"] == [first, text, redacted, call]


def test_reasoning_stays_behind_the_history_that_it_came_from(office: Office) -> None:
    office.pairs = 1
    office.ask(reply("hello"))
    office.ask(thinking_refund())
    assert office.approve(reply("Done."), t1=True)["answer"] == "Done."


def test_reasoning_of_two_waits_in_one_turn_is_kept(office: Office) -> None:
    office.ask(thinking_refund(1))
    office.approve(thinking_refund(2), t1=True)
    office.approve(reply("Done."), t2=True)
    messages = office.model.requests[-1].messages
    assert [messages[1]["content"], messages[3]["content"]] == [list(thinking_refund(n).content) for n in (1, 2)]


def test_the_step_limit_counts_across_the_wait(office: Office) -> None:
    office.limits = Limits(max_steps=2)
    office.wait()
    answer = office.approve(asks(use("t2", "refund", {"order": "8"})), t1=True)
    assert (answer["stop_reason"], answer["steps"], office.ran) == ("step_limit", 2, ["refund 7 1"])
    office.goes_on()


def test_a_turn_that_may_go_no_further_still_runs_what_was_approved_and_names_its_model(office: Office) -> None:
    office.wait()
    office.limits = Limits(max_steps=1)
    answer = office.approve(t1=True)
    assert (answer["stop_reason"], office.ran) == ("step_limit", ["refund 7 1"])
    assert answer["model_id"] == office.model.model_id
    office.goes_on()


def test_tokens_count_across_the_wait(office: Office) -> None:
    office.limits = Limits(turn_token_limit=20)
    office.wait()
    answer = office.approve(asks(use("t2", "look"), tokens=10), t1=True)
    assert (answer["stop_reason"], office.ran) == ("token_limit", ["refund 7 1"])


def test_the_deadline_may_come_after_the_approved_call(office: Office) -> None:
    office.while_running = lambda: office.clock.advance(61)
    office.wait()
    answer = office.approve(t1=True)
    assert (answer["stop_reason"], office.ran) == ("deadline", ["refund 7 1"])
    assert office.statuses() == ["done"]
    office.goes_on()


def test_a_model_that_fails_after_the_approved_call_has_it_neither_run_again_nor_forgotten(office: Office) -> None:
    office.wait()
    with pytest.raises(ModelThrottledError):
        office.approve(ModelThrottledError(), t1=True)
    answer = office.approve(reply("Done."), t1=True)
    assert (answer["answer"], office.ran) == ("Done.", ["refund 7 1"])
    assert office.results() == ['[{"text": "refunded"}]']
    office.goes_on()


def test_another_question_after_such_a_failure_knows_the_result(office: Office) -> None:
    office.wait()
    with pytest.raises(ModelThrottledError):
        office.approve(ModelThrottledError(), t1=True)
    office.ask(reply("It was paid."), text="was it paid?")
    assert office.ran == ["refund 7 1"]
    assert "refunded" in json.dumps(office.model.requests[-1].messages)


def test_reasoning_after_another_try_keeps_what_it_came_from(office: Office) -> None:
    office.ask(reply(), thinking_refund())  # an empty answer, and the model is asked once more
    assert office.approve(reply("Done."), t1=True)["answer"] == "Done."


def test_a_turn_that_waits_is_no_history_of_its_own_second_half(office: Office) -> None:
    office.ask(reply("hello"), text="hi")
    office.wait()
    office.approve(reply("Done."), t1=True)
    asked = [message for message in office.model.requests[-1].messages if message["role"] == "user"]
    texts = [block["text"] for message in asked for block in message["content"] if "text" in block]
    assert texts == ["hi", "refund it"]
