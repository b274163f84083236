"""What models, tools and schemas of the world send each other, through the whole function: it stays what it is."""

import json
from typing import Any

import pytest

from agent.tooling.tool import Tool, tool, tool_from_schema
from local.bedrock.reply import Reply, text_reply
from tests.agent.edge.whole_function import Whole, unique
from tests.cases.functions import offering
from tests.fakes import use

pytestmark = pytest.mark.slow

_TRACKING = 1234567890123456789012
_SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}, "weight": {"type": "number"}}}


@tool
def track(number: int, weight: float = 0) -> str:
    """Track a parcel."""
    return f"{number!r} {weight!r}"


def tracker(**given: Any) -> str:
    """What a tool with a schema says of its arguments."""
    return " ".join(map(repr, given.values()))


_BY_SCHEMA: Tool[..., str] = tool_from_schema("track", "Track a parcel.", _SCHEMA, tracker)


@pytest.mark.parametrize("made", [track, _BY_SCHEMA], ids=["@tool", "schema"])
@pytest.mark.parametrize("number", [_TRACKING, -_TRACKING, 2**63, 2**64, 10**300], ids=lambda number: str(number)[:22])
def test_an_integer_beyond_64_bits_is_that_number_to_tool_store_and_model(whole: Whole, made: Any, number: int) -> None:
    session, given = unique(), {"number": number, "weight": 5.5}
    with offering(whole, made):
        whole.play(Reply([use("t1", "track", given)], "tool_use"), text_reply("Found."), text_reply("Again."))
        whole.direct("where?", session_id=session)
        whole.direct("and now?", session_id=session)
    [item, _] = whole.items(session)
    stored = json.loads(item["messages"]["S"])
    for messages in (stored, *(request.body["messages"] for request in whole.requests[1:])):
        assert messages[1]["content"][0]["toolUse"]["input"] == given
        assert messages[2]["content"][0]["toolResult"]["content"] == [{"text": f"{number} 5.5"}]


def test_an_integer_beyond_64_bits_is_shown_to_who_approves_it_and_runs_as_shown(whole: Whole) -> None:
    careful: Tool[..., str] = tool_from_schema("track", "Track.", _SCHEMA, tracker, needs_approval=True)
    session, given = unique(), {"number": _TRACKING, "weight": 9007199254740993}
    with offering(whole, careful):
        whole.play(Reply([use("t1", "track", given)], "tool_use"), text_reply("Found."))
        waiting = whole.direct("where?", session_id=session)
        assert waiting["approvals"][0]["input"] == given
        assert str(_TRACKING) in json.dumps(waiting)
    assert waiting["stop_reason"] == "awaiting_approval"


@pytest.mark.parametrize("said", ["", " \n"])
def test_a_tool_that_says_nothing_is_told_to_have_run(whole: Whole, said: str) -> None:
    @tool
    def quiet() -> str:
        """Say nothing."""
        return said

    with offering(whole, quiet):
        whole.play(Reply([use("t1", "quiet")], "tool_use"), text_reply("Done."))
        whole.direct("do it")
    result = whole.requests[-1].body["messages"][2]["content"][0]["toolResult"]
    assert (result["status"], result["content"]) == (
        "success",
        [{"text": "(The tool has run and returned an empty text.)"}],
    )
