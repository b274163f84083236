"""A stored turn that is run again with today's tools."""

from typing import Any

import pytest

from agent.adapters.dynamodb.items import to_item
from agent.messages import Message, assistant_text, tool_result, user_text
from agent.ports import DONE, RUNNING, SHORTENED, WAITING, Decision, StoredTurn
from agent.settings import Settings
from agent.tooling.tool import Tool, ToolContext, tool
from local.recordings import recordings
from local.replay import ENDED, Replayed, replay
from local.replay_report import as_json

QUESTION = user_text("Go.")
YES, NO = Decision(True, "", "boss", "now"), Decision(False, "Too dear.", "boss", "now")


class Tools:
    """Today's tools; `ran` tells which were run."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def look(self, result: str = "open", **options: Any) -> Tool[[int], str]:
        @tool(**options)
        def look(number: int) -> str:
            self.ran.append(f"look {number}")
            return result

        return look

    def write(self, result: str = "written today", **options: Any) -> Tool[[str], str]:
        @tool(**({"side_effects": True} | options))
        def write(text: str) -> str:
            self.ran.append(f"write {text}")
            return result

        return write


@pytest.fixture
def tools() -> Tools:
    return Tools()


def asks(tool_use_id: str, name: str, **given: Any) -> Message:
    return {
        "role": "assistant",
        "content": [{"toolUse": {"toolUseId": tool_use_id, "name": name, "input": given}}],
    }


def gives(tool_use_id: str, text: str, status: str = "success") -> Message:
    return {"role": "user", "content": [tool_result(tool_use_id, text, status)]}


LOOKS = [asks("t1", "look", number=1), gives("t1", "open")]
WRITES = [asks("t2", "write", text="a"), gives("t2", "written then")]


def stored(*messages: Message, answer: str = "Done.", stop_reason: str = "end_turn", **more: Any) -> StoredTurn:
    """A turn that used tools as these messages tell, and then gave the answer."""
    response = {"answer": answer, "stop_reason": stop_reason}
    whole = [QUESTION, *messages] if more.get("status", DONE) in (WAITING, RUNNING) else None
    whole = whole or [QUESTION, *messages, assistant_text(answer)]
    turn = {"status": DONE, "question": "Go.", "messages": whole, "response": response} | more
    return StoredTurn(key="caller#s", turn=1, random="5" * 32, **turn)


def again(turn: StoredTurn, *tools: Tool[..., Any], run_side_effects: bool = False, **settings: str) -> Replayed:
    (recording,) = recordings([to_item(turn)])
    given = Settings.from_environment({"MODEL_ID": "m", "TABLE_NAME": "t", **settings})
    return replay(recording, tools, given, run_side_effects=run_side_effects)


def test_nothing_differs_where_the_tools_do_the_same(tools: Tools) -> None:
    found = again(stored(*LOOKS), tools.look())
    assert not found.differs
    assert (found.answer, found.stop_reason, tools.ran) == ("Done.", "end_turn", ["look 1"])


def test_another_result_differs(tools: Tools) -> None:
    found = again(stored(*LOOKS), tools.look("closed"))
    assert [step.differs for step in found.steps] == [True]
    assert (found.differs, found.answer_differs) == (True, False)
    step = as_json(found)["steps"][0]
    assert (step["recorded"]["result"], step["today"]["result"]) == ([{"text": "open"}], [{"text": "closed"}])


def test_a_tool_that_is_gone_differs() -> None:
    found = again(stored(*LOOKS))
    assert found.steps[0].today is not None
    assert found.steps[0].today.status == "error"
    assert found.differs


@pytest.mark.parametrize("options", [{}, {"needs_approval": True}, {"needs_approval": lambda text: False}])
def test_a_tool_with_side_effects_is_not_run_again(tools: Tools, options: dict[str, Any]) -> None:
    found = again(stored(*LOOKS, *WRITES, decisions={"the second": YES}), tools.look(), tools.write(**options))
    assert tools.ran == ["look 1"]
    assert [(step.repeated, step.differs) for step in found.steps] == [(False, False), (True, False)]
    assert found.steps[1].today is not None
    assert found.steps[1].today.result == [{"text": "written then"}]


def test_a_tool_with_side_effects_is_run_where_it_is_said_so(tools: Tools) -> None:
    found = again(stored(*WRITES), tools.write(), run_side_effects=True)
    assert tools.ran == ["write a"]
    assert [(step.repeated, step.differs) for step in found.steps] == [(False, True)]


def test_a_recorded_error_of_a_tool_with_side_effects_is_repeated(tools: Tools) -> None:
    failed = gives("t2", "No paper.", "error")
    assert not again(stored(WRITES[0], failed), tools.write()).differs
    assert tools.ran == []


def test_a_recorded_object_of_a_tool_with_side_effects_is_repeated(tools: Tools) -> None:
    result = {"toolUseId": "t2", "content": [{"json": {"a": [1, 2.5, None]}}], "status": "success"}
    found = again(stored(WRITES[0], {"role": "user", "content": [{"toolResult": result}]}), tools.write())
    assert not found.differs
    assert found.steps[0].today is not None
    assert found.steps[0].today.result == result["content"]


def test_arguments_that_a_tool_with_side_effects_takes_no_longer_differ(tools: Tools) -> None:
    @tool(side_effects=True)
    def write(words: str) -> str:
        tools.ran.append(words)
        return words

    found = again(stored(*WRITES), write)
    assert found.steps[0].differs
    assert tools.ran == []


def test_a_tool_that_needs_a_yes_only_today_stops_there(tools: Tools) -> None:
    found = again(stored(*LOOKS), tools.look(needs_approval=True))
    assert (found.stop_reason, found.differs, tools.ran) == ("awaiting_approval", True, [])


def test_what_was_denied_is_denied_again(tools: Tools) -> None:
    denied = gives("t2", "Denied by a person. Too dear.", "error")
    turn = stored(WRITES[0], denied, decisions={"the second": NO})
    assert not again(turn, tools.write(needs_approval=True), run_side_effects=True).differs
    assert tools.ran == []


def waiting() -> StoredTurn:
    return stored(WRITES[0], status=WAITING, answer="This needs your approval: write.", stop_reason="awaiting_approval")


def test_a_turn_that_waits_waits_again(tools: Tools) -> None:
    found = again(waiting(), tools.write(needs_approval=True), run_side_effects=True)
    assert (found.differs, found.stop_reason, tools.ran) == (False, "awaiting_approval", [])


def test_a_turn_that_would_wait_no_longer_differs_and_runs_nothing(tools: Tools) -> None:
    found = again(waiting(), tools.write())
    assert (found.differs, found.stop_reason, tools.ran) == (True, ENDED, [])


def test_what_was_approved_before_it_waited_again_counts(tools: Tools) -> None:
    more, said = asks("t3", "write", text="b"), "This needs your approval: write."
    turn = stored(*WRITES, more, status=WAITING, answer=said, stop_reason="awaiting_approval", decisions={"x": YES})
    assert not again(turn, tools.write(needs_approval=True)).differs


def test_fewer_steps_differ(tools: Tools) -> None:
    found = again(stored(*LOOKS, *WRITES), tools.look(), tools.write(), MAX_STEPS="2")
    assert found.steps[1].today is None
    assert (found.stop_reason, found.differs) == ("step_limit", True)


@pytest.mark.parametrize("reason", ["step_limit", "max_tokens", "token_limit", "guardrail_intervened", "new_reason"])
def test_an_end_that_was_not_the_models_own_is_the_same_again(tools: Tools, reason: str) -> None:
    found = again(stored(*LOOKS, answer="Half of it.\n\nIt was cut.", stop_reason=reason), tools.look())
    assert (found.differs, found.stop_reason) == (False, reason)


def test_a_turn_that_crashed_is_run_as_far_as_it_is_known(tools: Tools) -> None:
    turn = stored(*LOOKS, WRITES[0], status=RUNNING, response=None)
    found = again(turn, tools.look(), tools.write())
    assert (found.differs, found.stop_reason, tools.ran) == (False, ENDED, ["look 1"])
    assert again(turn, tools.look("closed"), tools.write()).differs


def test_what_was_carried_over_from_a_crash_is_not_run_again(tools: Tools) -> None:
    question = [assistant_text("(There is no answer to this.)"), user_text("And now?")]
    found = again(stored(*WRITES, *question, *LOOKS), tools.look(), tools.write(), run_side_effects=True)
    assert (found.differs, tools.ran) == (False, ["look 1"])


LONG = "a" * 400_000


@pytest.mark.parametrize(("today", "differs"), [(LONG, False), ("b" + LONG[1:], True), (LONG + "a", True)])
def test_of_a_shortened_result_what_is_left_is_compared(tools: Tools, today: str, differs: bool) -> None:
    turn = stored(LOOKS[0], gives("t1", LONG))
    found = again(turn, tools.look(today), TOOL_RESULT_MAX_CHARS="1000000")
    assert found.steps[0].recorded is not None
    assert SHORTENED in found.steps[0].recorded.result[0]["text"]
    assert found.differs == differs


def test_a_turn_that_lost_its_steps_says_so() -> None:
    uses = [{"name": "look", "status": "success", "milliseconds": 1}] * 3
    response = {"answer": "Done.", "stop_reason": "end_turn", "tool_uses": uses}
    assert as_json(again(stored(response=response)))["lost_steps"] == 3


@pytest.mark.parametrize("messages", [None, [], [assistant_text("?")], [QUESTION], "text"])
def test_what_holds_nothing_to_run_is_left_out(messages: Any) -> None:
    item = to_item(stored(messages=[]))
    item["messages"] = {"S": messages} if isinstance(messages, str) else item["messages"]
    kept = [item] if isinstance(messages, str) else [to_item(stored(messages=messages))]
    assert recordings(kept) == []


def test_a_tool_knows_whose_session_it_is_again() -> None:
    seen: list[tuple[str, str, str]] = []

    @tool
    def look(number: int, context: ToolContext) -> str:
        seen.append((context.caller, context.session_id, context.tool_use_id))
        return "open"

    assert not again(stored(*LOOKS), look).differs
    assert seen == [("caller", "s", "t1")]


def test_a_tool_that_is_run_again_has_the_secrets_of_its_module() -> None:
    @tool
    def look(number: int, context: ToolContext) -> str:
        return context.secrets["KEY"]

    (recording,) = recordings([to_item(stored(*LOOKS))])
    given = Settings.from_environment({"MODEL_ID": "m", "TABLE_NAME": "t"})
    found = replay(recording, [look], given, secrets_of=lambda module, ends: {"KEY": f"open, in {module}"})
    assert [step.today.result for step in found.steps if step.today] == [[{"text": f"open, in {look.module}"}]]
