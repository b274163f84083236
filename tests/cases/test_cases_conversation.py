"""Conversations that went wrong elsewhere, through the whole function: each goes on, and Bedrock takes every request."""

import json
import threading
from typing import Any

import pytest

from agent.adapters.bedrock.model import BedrockModel, Inference
from agent.deadline import Deadline
from agent.messages import user_text
from agent.ports import DONE, RUNNING, ModelRequest
from agent.tooling.tool import tool
from agent.tooling.toolbox import ToolLimits
from agent.turn.repair import INTERRUPTED
from tests.agent.edge.whole_function import Whole, function_at, unique
from tests.cases.functions import offering
from tests.fakes import use

USER = {"role": "user", "content": [{"text": "earlier question"}]}
USE = {"role": "assistant", "content": [{"text": "so"}, use("t1", "sine", {"x": 1})]}
RESULT = {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"json": {"result": 0.84}}]}}]}
ANSWER = {"role": "assistant", "content": [{"text": "0.84"}]}


def keep(whole: Whole, session: str, messages: list[Any], status: str = DONE, turn: int = 1) -> None:
    """Writes a turn by hand, as an older release or a crash may have left it."""
    whole.put(
        session,
        turn,
        status={"S": status},
        question={"S": "earlier question"},
        messages={"S": json.dumps(messages)},
        response={"S": '{"answer": "0.84"}'},
        lease_id={"S": "theirs"},
        lease_until={"N": "1"},
        request_id={"S": "theirs"},
    )


LEFT: dict[str, list[Any]] = {
    "a use without its result": [USER, USE],
    "a use without its result, answered": [USER, USE, ANSWER],
    "a result without its use": [USER, RESULT, ANSWER],
    "a result first": [RESULT, ANSWER],
    "a result of another use": [USER, {"role": "assistant", "content": [use("t2")]}, RESULT, ANSWER],
    "two results of one use": [USER, USE, {"role": "user", "content": RESULT["content"] * 2}, ANSWER],  # type: ignore[operator]
    "results in two messages": [
        USER,
        {"role": "assistant", "content": [use("t1"), use("t2")]},
        RESULT,
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t2", "content": []}}]},
        ANSWER,
    ],
    "text before the results": [USER, USE, {"role": "user", "content": [{"text": "and"}, *RESULT["content"]]}, ANSWER],
    "no answer": [USER],
    "two questions": [USER, USER, ANSWER],
    "two answers": [USER, ANSWER, ANSWER],
    "empty content": [USER, {"role": "assistant", "content": []}],
    "blank answer": [USER, {"role": "assistant", "content": [{"text": "\n"}]}],
    "role system": [{"role": "system", "content": [{"text": "obey"}]}, USER, ANSWER],
    "unknown block": [USER, {"role": "assistant", "content": [{"SDK_UNKNOWN_MEMBER": {"name": "x"}}, {"text": "ok"}]}],
    "illegal name": [USER, {"role": "assistant", "content": [use("t1", "a.b(c=1)")]}, RESULT, ANSWER],
    "input a list": [USER, {"role": "assistant", "content": [use("t1", "sine", [1])]}, RESULT, ANSWER],
    "bare result": [
        USER,
        USE,
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"json": [1]}], "status": "ok"}}]},
        ANSWER,
    ],
    "blank error": [
        USER,
        USE,
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": " "}], "status": "error"}}],
        },
        ANSWER,
    ],
    "reasoning last": [
        USER,
        {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "a", "signature": "b"}}}]},
    ],
}


@pytest.mark.parametrize("status", [DONE, RUNNING])
@pytest.mark.parametrize("name", LEFT)
def test_whatever_a_turn_left_behind_the_session_goes_on(whole: Whole, name: str, status: str) -> None:
    session = unique()
    keep(whole, session, LEFT[name], status)
    first = whole.direct("hello", session_id=session)
    second = whole.direct("hello again", session_id=session)
    assert (first["answer"], second["turn"]) == ("Fine.", first["turn"] + 1)
    assert whole.requests[-1].body["messages"][-1] == user_text("hello again")


def test_the_same_request_goes_on_in_what_a_crash_left(whole: Whole) -> None:
    session = unique()
    keep(whole, session, [USER, USE], RUNNING)
    answer = whole.direct("earlier question", session_id=session, request_id="theirs")
    assert answer["turn"] == 1
    assert INTERRUPTED in json.dumps(whole.requests[-1].body["messages"][-1])
    assert whole.direct("next", session_id=session)["turn"] == 2


def test_a_session_goes_on_when_the_tools_that_it_used_are_offered_no_longer(whole: Whole) -> None:
    session = unique()
    whole.play({"tool_use": {"name": "sine", "input": {"x": 1}}}, {"text": "0.84"}, {"text": "bye"})
    whole.direct("sine of 1?", session_id=session)
    without = function_at(whole.server, TOOLS="")
    answer, error = without.answer({"question": "and now?", "session_id": session}, None)
    assert error is None
    assert answer
    assert answer["answer"] == "bye"
    assert whole.requests[-1].body["toolConfig"]["tools"]


def test_numbers_come_back_from_the_table_as_they_were(whole: Whole) -> None:
    given = {"x": 0.1, "n": 5, "f": 5.0, "b": True, "tiny": 1e-7, "big": 9007199254740993, "third": 1 / 3, "none": None}
    session = unique()
    whole.play({"tool_use": {"name": "sine", "input": given}}, {"text": "no"}, {"text": "yes"})
    whole.direct("one", session_id=session)
    whole.direct("two", session_id=session)
    sent = whole.requests[-1].body["messages"][1]["content"][0]["toolUse"]["input"]
    assert repr(sent) == repr(given)


def test_japanese_goes_to_the_model_and_into_results_unescaped() -> None:
    sent: list[bytes] = []

    class Client:
        def post(self, path: str, body: bytes, deadline: Deadline) -> Any:
            sent.append(body)
            return self

        def body(self) -> bytes:
            return b'{"output": {}, "stopReason": "end_turn"}'

    content = [{"toolResult": {"toolUseId": "t1", "content": [{"json": {"天気": "晴れ🌞"}}]}}]
    messages: list[Any] = [user_text("東京は？"), USE, {"role": "user", "content": content}]
    reply = BedrockModel(Client(), "amazon.nova-pro-v1:0", Inference(10)).converse(
        ModelRequest("", messages, []), Deadline.after(5)
    )
    assert all(word in sent[0].decode() for word in ("東京は？", "天気", "晴れ🌞"))
    assert (reply.content, reply.stop_reason) == ([], "end_turn")  # an answer without a message is an empty one


def test_a_json_result_that_is_cut_shows_japanese_as_written(whole: Whole) -> None:
    @tool
    def towns() -> list[str]:
        """List towns."""
        return ["東京"] * 20_000

    session = unique()
    with offering(whole, towns):
        whole.play({"tool_use": {"name": "towns", "input": {}}}, {"text": "many"})
        whole.direct(session_id=session)
    [block] = whole.requests[-1].body["messages"][-1]["content"][0]["toolResult"]["content"]
    assert block["text"].startswith('["東京","東京"')
    assert len(block["text"]) < 21_000


def test_every_failed_tool_use_says_in_words_that_it_failed(whole: Whole) -> None:
    @tool(timeout_seconds=0.05)
    def hang() -> str:
        """Never answer."""
        stop.wait(5)
        return "late"

    @tool
    def boom() -> str:
        """Fail."""
        raise KeyError

    stop = threading.Event()
    uses = [use("a", "hang"), use("b", "boom"), use("c", "gone"), use("d", "boom", {"x": 1}), use("e", "boom")]
    with offering(whole, hang, boom, limits=ToolLimits(max_uses_per_step=4)):
        whole.play({"content": uses, "stop_reason": "tool_use"}, {"text": "sorry"})
        whole.direct(session_id=unique())
    stop.set()
    results = [block["toolResult"] for block in whole.requests[-1].body["messages"][-1]["content"]]
    words = ("did not answer", "failed", "no tool named", "arguments are wrong", "Not run")
    assert [result["status"] for result in results] == ["error"] * 5
    assert all(word in result["content"][0]["text"] for word, result in zip(words, results, strict=True))
