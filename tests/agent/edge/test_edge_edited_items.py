"""Items that hands have edited into nonsense never break a session."""

import json
from typing import Any

import pytest

from agent.ports import DONE, RUNNING
from tests.agent.edge.desk import Desk
from tests.fakes import reply

NONSENSE: dict[str, dict[str, Any]] = {
    "nothing but its key": {},
    "status of a wrong type": {"status": {"N": "1"}},
    "unknown status": {"status": {"S": "strange"}},
    "broken messages": {"status": {"S": DONE}, "messages": {"S": "[{"}, "question": {"S": "q"}},
    "messages that are no list": {"status": {"S": DONE}, "messages": {"S": '{"role": "user"}'}},
    "messages of nonsense": {"status": {"S": DONE}, "messages": {"S": '[1, null, {"role": 5}, {"role": "user"}]'}},
    "messages of a wrong type": {"status": {"S": DONE}, "messages": {"L": [{"S": "x"}]}},
    "an orphan result": {
        "status": {"S": DONE},
        "messages": {"S": '[{"role": "user", "content": [{"toolResult": {"toolUseId": "t", "content": []}}]}]'},
    },
    "a use without result": {
        "status": {"S": DONE},
        "messages": {
            "S": '[{"role":"user","content":[{"text":"q"}]},'
            '{"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"send","input":"x"}}]}]'
        },
    },
    "a response that is no object": {"status": {"S": DONE}, "response": {"S": "[1]"}, "usage": {"S": "5"}},
    "a response without answer": {"status": {"S": DONE}, "response": {"S": '{"x": 1}'}, "request_id": {"S": "r"}},
    "expiry of a wrong type": {"status": {"S": DONE}, "expires_at": {"S": "never"}},
    "expiry in the far future": {"status": {"S": DONE}, "expires_at": {"N": "9E+125"}},
    "running without a lease": {"status": {"S": RUNNING}},
    "running for ever": {"status": {"S": RUNNING}, "lease_until": {"N": "9E+125"}, "lease_id": {"S": "x"}},
    "running with broken messages": {"status": {"S": RUNNING}, "messages": {"S": "{"}, "lease_id": {"S": "x"}},
    "bytes and sets": {"status": {"B": b"\x00"}, "question": {"SS": ["a"]}, "lease_until": {"NS": ["1"]}},
}


@pytest.mark.parametrize("name", NONSENSE)
def test_an_item_edited_into_nonsense_never_breaks_a_session(desk: Desk, name: str) -> None:
    desk.ask(reply("first"))
    desk.put(2, **NONSENSE[name])
    first = desk.ask(reply("Fine."))
    assert first["answer"] == "Fine."
    assert desk.ask(reply("Fine."))["turn"] == first["turn"] + 1
    assert json.dumps(desk.sessions().read(desk.key))
    desk.sessions().forget(desk.key)
    assert desk.items() == []


def test_a_repeated_request_is_never_answered_with_nonsense(desk: Desk) -> None:
    desk.put(1, status={"S": DONE}, request_id={"S": "r"}, question={"S": "hi"}, response={"S": '{"x": 1}'})
    answer = desk.ask(reply("Fine."), request="r")
    assert answer["answer"].strip()
