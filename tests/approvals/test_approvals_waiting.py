"""A turn that needs a person's yes stops before the call, and waits."""

from collections.abc import Callable
from typing import Any

import pytest

from agent.errors import NotFoundError
from agent.tooling.tool import Tool, tool
from agent.tooling.toolbox import ToolLimits
from tests.approvals.office import Office
from tests.fakes import asks, reply, use


def test_the_turn_stops_before_the_call_and_says_what_it_asks_for(office: Office) -> None:
    answer = office.ask(asks("I'll pay.", use("t1", "refund", {"order": "7", "amount": 30}), tokens=10), request="r")
    assert answer == {
        "answer": "I'll pay.\n\nThis needs your approval: refund.",
        "session_id": office.key,
        "turn": 1,
        "stop_reason": "awaiting_approval",
        "steps": 1,
        "model_id": office.model.model_id,
        "usage": {
            "input_tokens": 5,
            "output_tokens": 5,
            "cache_read_input_tokens": 0,
            "cache_write_input_tokens": 0,
        },
        "tool_uses": [],
        "approvals": [
            {
                "approval_id": office.ids["t1"],
                "tool_use_id": "t1",
                "tool": "refund",
                "input": {"order": "7", "amount": 30},
                "expires_at": "2027-01-16T08:00:00Z",  # a day later
            }
        ],
    }
    assert office.ran == []


def test_none_of_the_steps_calls_is_run_and_only_those_that_need_it_are_asked_for(office: Office) -> None:
    uses = [use("t1", "look"), use("t2", "refund", {"order": "7"}), use("t3", "write"), use("t4", "nothing")]
    answer = office.wait(*uses, use("t5", "refund", {"order": "8"}), use("t6", "refund", {"amount": 5}))
    assert [each["tool_use_id"] for each in answer["approvals"]] == ["t2", "t5"]  # t6 lacks its order
    assert office.ran == []


def test_it_is_stored_as_waiting_and_shown(office: Office) -> None:
    answer = office.wait()
    stored = office.item()
    assert stored["status"] == "awaiting_approval"
    assert stored["messages"][-1]["content"] == [use("t1", "refund", {"order": "7"})]
    (shown,) = office.sessions().read(office.key)
    assert (shown["turn"], shown["question"], shown["answer"]) == (1, "refund it", answer["answer"])
    assert (shown["stop_reason"], shown["usage"]) == ("awaiting_approval", answer["usage"])


def test_the_same_request_gets_the_waiting_answer_again(office: Office) -> None:
    answer = office.wait(request="r")
    assert office.ask(request="r") == answer
    assert len(office.model.requests) == 1


def test_who_has_got_the_waiting_answer_again_can_still_approve(office: Office) -> None:
    office.wait(request="r")
    office.ask(request="r")
    assert office.approve(reply("Done."), t1=True)["answer"] == "Done."
    assert office.ran == ["refund 7 1"]


def test_a_waiting_session_can_be_deleted(office: Office) -> None:
    office.wait()
    office.sessions().forget(office.key)
    assert office.items() == []
    with pytest.raises(NotFoundError):
        office.approve(t1=True)
    office.goes_on()
    assert office.ran == []


def test_waiting_takes_no_more_calls_of_the_table_than_any_other_answer(office: Office) -> None:
    office.wait()
    assert office.client.operations == ["query", "put_item", "update_item"]


@pytest.mark.parametrize("pairs", [0, 1])
def test_a_turn_waits_even_where_little_or_nothing_is_kept(office: Office, pairs: int) -> None:
    office.pairs = pairs
    office.ask(reply("first"))
    waiting = office.wait(request="r")
    assert office.ask(request="r") == waiting
    assert office.sessions().read(office.key)[-1]["stop_reason"] == "awaiting_approval"
    answer = office.approve(reply("Done."), t1=True)
    assert (answer["answer"], office.ran) == ("Done.", ["refund 7 1"])
    assert len(office.items()) == pairs
    office.goes_on()
    assert len(office.items()) == pairs


@pytest.mark.parametrize("pairs", [1, 2])
def test_the_model_sees_the_same_history_before_and_after_the_wait(office: Office, pairs: int) -> None:
    office.pairs = pairs
    for number in range(pairs):
        office.ask(reply(f"answer {number}"), text=f"question {number}")
    office.wait()
    office.approve(reply("Done."), t1=True)
    before, after = office.model.requests[-2:]
    assert after.messages[: len(before.messages)] == before.messages


def above(amount: int) -> Tool[..., Any]:
    def is_much(order: str, amount: int = 1) -> bool:
        return amount > limit

    limit = amount

    @tool(name="pay", needs_approval=is_much)
    def pay(order: str, amount: int = 1) -> str:
        """Pays."""
        return f"paid {amount}"

    return pay


def test_a_function_of_the_arguments_tells_which_calls_wait(office: Office) -> None:
    office.more_tools = [above(10)]
    free = use("t1", "pay", {"order": "a", "amount": 10})
    assert office.ask(asks(free), reply("Paid."))["stop_reason"] == "end_turn"
    waiting = office.wait(use("t2", "pay", {"order": "a", "amount": 11}), use("t3", "pay", {"order": "a"}))
    assert [each["tool_use_id"] for each in waiting["approvals"]] == ["t2"]
    answer = office.approve(reply("Paid."), t2=True)
    assert [used["status"] for used in answer["tool_uses"]] == ["success", "success"]


def test_arguments_that_can_not_be_run_need_no_approval(office: Office) -> None:
    office.more_tools = [above(10)]
    answer = office.ask(asks(use("t1", "pay", {"order": "a", "amount": "much"})), reply("Sorry."))
    assert (answer["stop_reason"], answer["tool_uses"][0]["status"]) == ("end_turn", "error")


@pytest.mark.parametrize("error", [ValueError("no"), RecursionError(), KeyError("x")])
def test_a_function_that_fails_has_the_call_wait(office: Office, error: Exception) -> None:
    def broken(text: str) -> bool:
        raise error

    @tool(needs_approval=broken)
    def shout(text: str) -> str:
        """Shouts."""
        office.ran.append(text)
        return "shouted"

    office.more_tools = [shout]
    office.wait(use("t1", "shout", {"text": "ha"}))
    assert office.ran == []
    office.approve(reply("Done."), t1=True)
    assert office.ran == ["ha"]


def test_an_async_tool_waits_too(office: Office) -> None:
    @tool(needs_approval=True)
    async def later(text: str) -> str:
        """Does it later."""
        office.ran.append(text)
        return "done"

    office.more_tools = [later]
    office.wait(use("t1", "later", {"text": "x"}))
    office.approve(reply("Done."), t1=True)
    assert office.ran == ["x"]


def _always(**_: object) -> bool:
    return True


@pytest.mark.parametrize("needs", [True, _always], ids=["always", "a function"])
def test_a_need_of_approval_implies_side_effects(needs: bool | Callable[..., bool]) -> None:
    @tool(needs_approval=needs)
    def act() -> str:
        """Acts."""
        return "x"

    assert act.side_effects


def test_a_call_that_will_not_be_run_anyway_is_not_asked_for(office: Office) -> None:
    office.tool_limits = ToolLimits(max_uses_per_step=1)
    answer = office.wait(use("t1", "refund", {"order": "1"}), use("t2", "refund", {"order": "2"}))
    assert [each["tool_use_id"] for each in answer["approvals"]] == ["t1"]
