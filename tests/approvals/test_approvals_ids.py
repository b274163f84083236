"""A yes is for one very call: what its id is made of, and what no yes is good for."""

import copy
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from agent.errors import AgentError, NotFoundError
from agent.tooling.tool import tool_from_schema
from tests.approvals.office import Office
from tests.fakes import asks, reply, use

PAY = {"order": "7", "amount": 30}


def computed(office: Office, step: int, position: int, name: str, tool: str, value: dict[str, Any]) -> str:
    """The id as it is defined."""
    random = office.item()["approvals"]["random"]
    text = json.dumps([random, step, position, name, tool, value], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def test_an_id_is_made_of_a_random_value_and_all_that_the_call_is(office: Office) -> None:
    office.ask(asks(use("t0", "look")), asks(use("t1", "look"), use("t2", "refund", {"order": "é", "amount": 2})))
    assert len(office.item()["approvals"]["random"]) == 32
    assert office.ids["t2"] == computed(office, 2, 1, "t2", "refund", {"amount": 2, "order": "é"})


def test_the_random_value_is_drawn_anew_each_time_a_turn_begins_to_wait(office: Office) -> None:
    office.wait()
    first = office.item()["approvals"]["random"]
    office.approve(asks(use("t2", "refund", {"order": "8"})), t1=True)
    assert office.item()["approvals"]["random"] != first


def test_an_old_yes_is_not_good_for_another_call_under_the_same_tool_use_id(office: Office) -> None:
    office.pairs = 1
    office.wait()
    yes = {office.ids["t1"]: True}
    office.approve(reply("Done."), t1=True)
    office.ask(reply("Sure."), text="and?")  # the first turn is trimmed
    office.wait(use("t1", "refund", {"order": "7", "amount": 5000}))
    for verdicts in (yes, {"t1": True}):
        with pytest.raises(AgentError) as caught:
            office.sessions().approve(office.approval(verdicts))
        assert caught.value.code == "invalid_request"
        assert office.ids["t1"] in caught.value.message
    assert office.ran == ["refund 7 1"]


def test_a_yes_is_not_good_for_the_twin_beside_it(office: Office) -> None:
    office.wait(use("t1", "refund", PAY), use("t1", "refund", PAY))
    first, second = (each["approval_id"] for each in office.sessions().read(office.key)[0]["approvals"])
    assert first != second
    answer = office.decide({first: True})
    assert [each["approval_id"] for each in answer["approvals"]] == [second]
    office.decide({second: False}, reply("Done."))
    assert office.ran == ["refund 7 30"]


def test_a_yes_is_not_good_for_the_same_call_later_in_the_turn(office: Office) -> None:
    office.wait()
    yes = {office.ids["t1"]: True}
    office.decide(yes, asks(use("t1", "refund", {"order": "7"})))
    assert office.decide(yes)["stop_reason"] == "awaiting_approval"
    assert office.ran == ["refund 7 1"]


def test_a_yes_is_not_good_for_a_session_that_was_deleted_and_made_again(office: Office) -> None:
    office.wait()
    yes = {office.ids["t1"]: True}
    office.sessions().forget(office.key)
    office.wait()
    with pytest.raises(AgentError):
        office.decide(yes)
    assert office.ran == []


def test_a_yes_is_not_good_for_another_session(office: Office) -> None:
    office.wait()
    yes = {office.ids["t1"]: True}
    other = Office(office.client)
    other.wait()
    with pytest.raises(AgentError) as caught:
        other.decide(yes)
    assert caught.value.code == "invalid_request"
    assert (office.ran, other.ran) == ([], [])


def edited_input(messages: list[Any]) -> None:
    messages[-1]["content"][0]["toolUse"]["input"]["amount"] = 7777


def edited_tool(messages: list[Any]) -> None:
    messages[-1]["content"][0]["toolUse"]["name"] = "write"


def edited_id(messages: list[Any]) -> None:
    messages[-1]["content"][0]["toolUse"]["toolUseId"] = "t9"


def edited_order(messages: list[Any]) -> None:
    messages[-1]["content"].reverse()


def a_call_put_before(messages: list[Any]) -> None:
    messages[-1]["content"].insert(0, use("t0", "look"))


def a_twin_put_behind(messages: list[Any]) -> None:
    messages[-1]["content"] += copy.deepcopy(messages[-1]["content"])


def a_call_taken_out(messages: list[Any]) -> None:
    del messages[-1]["content"][0]


EDITS = [
    edited_input,
    edited_tool,
    edited_id,
    edited_order,
    a_call_put_before,
    a_twin_put_behind,
    a_call_taken_out,
]


@pytest.mark.parametrize("verdicts", [["t1"], ["t2"], ["t1", "t2"]], ids=str)
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_a_call_that_was_edited_while_it_waits_runs_on_no_old_yes(
    office: Office, edit: Callable[[list[Any]], None], verdicts: list[str]
) -> None:
    office.wait(use("t1", "refund", {"order": "7", "amount": 77}), use("t2", "refund", {"order": "8", "amount": 88}))
    asked = {"refund 7 77", "refund 8 88"}
    messages = office.item()["messages"]
    edit(messages)
    office.edit(messages=messages)
    shown = office.sessions().read(office.key)[0]["approvals"]
    assert all(f"refund {each['input']['order']} {each['input']['amount']}" in asked for each in shown)
    try:
        office.decide(dict.fromkeys(verdicts, True), reply("Done."))
    except AgentError as error:
        assert error.code in ("not_found", "invalid_request")  # noqa: PT017 - or an answer
    assert set(office.ran) <= asked
    assert len(office.ran) == len(set(office.ran))  # no twin of what was asked for
    touches_all = edit in (edited_order, a_call_put_before, a_call_taken_out)
    if touches_all or (edit is not a_twin_put_behind and "t1" in verdicts):
        assert office.ran == []
    office.script.left.clear()
    office.goes_on()


def test_an_input_that_was_edited_after_the_yes_to_another_call_does_not_run(office: Office) -> None:
    office.wait(use("t1", "refund", {"order": "7", "amount": 77}), use("t2", "refund", {"order": "8"}))
    office.approve(t1=True)
    messages = office.item()["messages"]
    edited_input(messages)
    office.edit(messages=messages)
    office.approve(reply("Done."), t2=True)
    assert office.ran == ["refund 8 1"]
    office.goes_on()


def test_another_step_than_the_one_that_was_asked_for_runs_nothing(office: Office) -> None:
    office.wait()
    office.edit(response={**office.item()["response"], "steps": 2})
    with pytest.raises(NotFoundError):
        office.approve(t1=True)
    assert office.ran == []


def test_a_yes_counts_where_more_of_the_history_is_seen_than_before(office: Office) -> None:
    office.ask(asks(use("t1", "look")), reply("Open."))
    office.pairs = 0
    office.wait()
    office.pairs = 10  # deployed meanwhile: now an older turn has the same tool use id
    office.approve(reply("Done."), t1=True)
    assert office.ran == ["look", "refund 7 1"]


def as_an_earlier_version_stored_it(office: Office) -> None:
    """A turn that waits, with ids of tool uses and without a random value."""
    item = office.item()
    entry = {"tool_use_id": "t1", "tool": "refund", "expires_at": "2030-01-01T00:00:00Z"}
    changed = office.items()[-1]
    for name in ("waiting", "waiting_since", "approvals"):
        del changed[name]
    changed["response"] = {"S": json.dumps({**item["response"], "approvals": [entry]})}
    changed["lease_until"] = {"N": str(round((office.clock() + 5) * 1000))}
    office.put(changed)


def test_what_an_earlier_version_asked_can_not_be_approved_and_says_so(office: Office) -> None:
    office.wait(request="r")
    as_an_earlier_version_stored_it(office)
    for name in ("t1", office.ids["t1"], "made-up"):
        with pytest.raises(NotFoundError, match=r"^This was asked by an earlier version: please ask again\.$"):
            office.sessions().approve(office.approval({name: True}))
    assert office.ran == []
    (shown,) = office.sessions().read(office.key)
    assert (shown["stop_reason"], "approvals" in shown) == ("end_turn", False)
    assert "earlier version" in shown["answer"]
    assert office.ask(request="r")["stop_reason"] == "end_turn"
    office.goes_on()
    office.sessions().forget(office.key)


def test_decisions_that_an_earlier_version_stored_are_of_no_call(office: Office) -> None:
    office.wait()
    office.approve(reply("Done."), t1=True)
    office.edit(approvals={"t1": {"approved": True, "reason": "", "by": "boss", "at": "2026-12-01T00:00:00Z"}})
    with pytest.raises(NotFoundError):
        office.sessions().approve(office.approval({"t1": True}))
    assert office.ran == ["refund 7 1"]
    office.goes_on()


INPUTS: list[Any] = [
    10**21,
    -(2**63) - 1,
    2**64,
    1e22,
    1.0,
    -0.0,
    0.1 + 0.2,
    5e-324,
    True,
    None,
    "é\u2028\x00\x7f 🌞",
    {"b": 1, "a": {"é": [1, 2.0, None]}, "$bytes": "x", "": ""},
    [[[]], {}, ""],
]


@pytest.mark.parametrize("value", INPUTS, ids=repr)
def test_a_call_with_any_input_is_the_same_once_it_was_stored(office: Office, value: Any) -> None:
    def note(**given: Any) -> str:
        office.ran.append(json.dumps(given))
        return "noted"

    schema = {"type": "object", "properties": {"value": {}}}
    office.more_tools = [tool_from_schema("note", "Notes.", schema, note, needs_approval=True)]
    answer = office.wait(use("t1", "note", {"value": value}))
    (shown,) = office.sessions().read(office.key)[0]["approvals"]
    assert shown == answer["approvals"][0]
    office.approve(reply("Done."), t1=True)
    assert office.ran == [json.dumps({"value": value})]
