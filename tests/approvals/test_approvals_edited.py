"""Waiting items that hands have edited."""

import json
from typing import Any

import pytest

from agent.errors import AgentError
from tests.approvals.office import Office
from tests.fakes import reply, use

pytestmark = pytest.mark.slow

EDITS: dict[str, dict[str, Any]] = {
    "no response": {"response": {"S": ""}},
    "a response that is no object": {"response": [1]},
    "approvals that are no list": {"response": {"approvals": {"t1": True}}},
    "approvals of nonsense": {"response": {"approvals": [1, None, {}, {"approval_id": 5}, {"approval_id": ["ID"]}]}},
    "an approval without expiry": {"response": {"steps": 1, "approvals": [{"approval_id": "ID", "tool": ["x"]}]}},
    "an expiry of a wrong type": {
        "response": {"steps": 1, "approvals": [{"approval_id": "ID", "expires_at": 10**400}]}
    },
    "figures of nonsense": {
        "response": {
            "approvals": [{"approval_id": "ID", "expires_at": "2030"}],
            "steps": "x",
            "usage": [1],
            "tool_uses": 5,
        }
    },
    "tool uses of nonsense": {
        "response": {
            "steps": 1,
            "approvals": [{"approval_id": "ID", "expires_at": "2030"}],
            "tool_uses": [1, {"name": 5}, None],
        }
    },
    "decisions of nonsense": {"approvals": {"random": "RANDOM", "decisions": {"ID": 5, "t2": [], "t3": {"by": 1}}}},
    "decisions that are no object": {"approvals": {"random": "RANDOM", "decisions": [1]}},
    "no random value": {"approvals": {"random": 5, "decisions": {}}},
    "approvals that are no object": {"approvals": [1]},
    "a reason of half a character": {
        "approvals": {"random": "RANDOM", "decisions": {"ID": {"approved": False, "reason": "\ud83d"}}}
    },
    "who waits of a wrong type": {"waiting": {"N": "5"}, "waiting_since": {"N": "5"}},
    "broken messages": {"messages": {"S": "[{"}},
    "messages of nonsense": {"messages": [1, None, {"role": 5}]},
    "a last message without content": {"messages": [{"role": "user", "content": [{"text": "q"}]}, {"role": "x"}]},
    "a last message of nonsense": {"messages": [{"role": "user", "content": [{"text": "q"}]}, {"content": [1, "x"]}]},
    "a call that is no object": {"messages": [{"role": "assistant", "content": [{"toolUse": 5}, {"toolUse": {}}]}]},
    "messages that end with the question": {"messages": [{"role": "user", "content": [{"text": "q"}]}]},
    "messages that end with a text": {
        "messages": [{"role": "user", "content": [{"text": "q"}]}, {"role": "assistant", "content": [{"text": "a"}]}]
    },
    "messages that begin with the call": {
        "messages": [{"role": "assistant", "content": [use("t1", "refund", {"order": "7"})]}]
    },
    "a call of nonsense": {
        "messages": [
            {"role": "user", "content": [{"text": "q"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": 5, "name": "refund", "input": "x"}}]},
        ]
    },
    "no lease": {"lease_id": {"N": "5"}},
    "a lease in the far future": {"lease_until": {"N": "9E+125"}},
    "a status of nonsense": {"status": {"S": "strange"}},
}


def edit(office: Office, name: str) -> None:
    """Makes an edit, with the id and the random value that the item has."""
    text = json.dumps(EDITS[name])
    random = office.item()["approvals"]["random"]
    office.edit(**json.loads(text.replace('"ID"', f'"{office.ids["t1"]}"').replace("RANDOM", random)))


@pytest.mark.parametrize("name", EDITS)
def test_a_waiting_item_that_hands_have_edited_never_breaks_the_session(office: Office, name: str) -> None:
    office.ask(reply("first"))
    office.wait()
    edit(office, name)
    assert json.dumps(office.sessions().read(office.key))
    try:
        answer = office.approve(reply("Fine."), t1=True)
        assert json.dumps(answer)
        assert all(isinstance(used, dict) and {"name", "status"} <= set(used) for used in answer["tool_uses"])
    except AgentError as error:
        assert error.code in ("not_found", "invalid_request", "session_busy")  # noqa: PT017 - or an answer
    office.script.left.clear()
    assert len(office.ran) <= 1
    office.goes_on()
    office.sessions().forget(office.key)
    assert office.items() == []


@pytest.mark.parametrize("name", EDITS)
def test_a_question_closes_any_waiting_item_that_hands_have_edited(office: Office, name: str) -> None:
    office.wait()
    edit(office, name)
    office.goes_on()
    assert json.dumps(office.sessions().read(office.key))
    assert office.ran == []


def test_an_edited_list_of_what_waits_runs_nothing_else(office: Office) -> None:
    office.wait(use("t1", "refund", {"order": "7"}), use("t2", "refund", {"order": "8"}))
    entry = {"approval_id": office.ids["t1"], "tool": "write", "input": {"text": "x"}, "expires_at": "2030"}
    office.edit(response={"approvals": [entry], "steps": 1})
    (shown,) = office.sessions().read(office.key)
    assert [(each["tool"], each["input"]) for each in shown["approvals"]] == [("refund", {"order": "7"})]
    office.approve(reply("Done."), t1=True)
    assert office.ran == ["refund 7 1"]  # t2 was never decided
