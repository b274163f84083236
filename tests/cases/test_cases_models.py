"""Models that misbehave, over the wire: no exception, no endless loop, and no history that Bedrock refuses."""

import base64
import json
from typing import Any

import pytest

from agent.errors import AgentError
from agent.tooling.tool import tool
from local.bedrock.reply import Reply, error_reply, reasoning_block, text_reply
from local.bedrock.service_model import service_model
from tests.agent.edge.whole_function import Whole, unique
from tests.cases.functions import function_over, offering
from tests.cases.raw_server import answer, answering
from tests.fakes import use

pytestmark = pytest.mark.slow

BAD = "the forbidden words"


@tool
def page() -> str:
    """Read a page."""
    return f"A page with {BAD}."


@tool
def fail() -> str:
    """Fail."""
    raise ValueError


def guardrail(model_id: str, request: dict[str, Any]) -> Reply:
    """Blocks while the bad text stands anywhere; reads the page where it is asked to."""
    if BAD in json.dumps(request["messages"]):
        return text_reply("Blocked by policy.", "guardrail_intervened")
    if "page" in request["messages"][-1]["content"][0].get("text", ""):
        return Reply([use(unique("t"), "page")], "tool_use")
    return text_reply("Fine.")


@pytest.mark.parametrize("question", [f"Say {BAD}", "Read the page"])
def test_what_a_guardrail_blocked_does_not_block_later_turns(whole: Whole, question: str) -> None:
    session = unique()
    with offering(whole, page):
        whole.answer_with(guardrail)
        blocked = whole.direct(question, session_id=session)
        later = [whole.direct(text, session_id=session) for text in ("hello", "and now?")]
    assert (blocked["answer"], blocked["stop_reason"]) == ("Blocked by policy.", "guardrail_intervened")
    assert [each["answer"] for each in later] == ["Fine.", "Fine."]
    assert [each["turn"] for each in later] == [2, 3]


_REASONS = [*service_model().shape_for("StopReason").metadata["enum"], "something_new"]
_SAID: dict[str, list[Any]] = {
    "nothing": [],
    "blank": [{"text": "\n"}],
    "text": [{"text": "partial"}],
    "use": [{"text": "partial"}, use("t1", "page")],
    "use without text": [use("t1", "page")],
    "unknown": [{"somethingNew": {"a": 1}}],
    "image": [{"image": {"format": "png", "source": {"bytes": "AAAA"}}}],
}


@pytest.mark.parametrize("said", _SAID)
@pytest.mark.parametrize("reason", _REASONS)
def test_a_session_goes_on_whatever_the_stop_reason(whole: Whole, reason: str, said: str) -> None:
    session = unique()
    with offering(whole, page):
        whole.play(*[Reply(_SAID[said], reason)] * 2, text_reply("end"), *[text_reply("later")] * 3)
        first = whole.direct(session_id=session)
        whole.answer_with(lambda model_id, request: text_reply("later"))
        second = whole.direct("next", session_id=session)
    assert first["answer"].strip()
    assert first["stop_reason"] in (reason, "end_turn")
    assert first["steps"] <= 3
    assert (second["answer"], second["turn"]) == ("later", 2)


UNUSUAL: dict[str, list[Any]] = {
    "text behind tool uses": [use("t1", "page"), {"text": "and then"}, use("t2", "page"), {"text": "the end"}],
    "repeated ids": [use("t1", "page")] * 5,
    "illegal names and ids": [use("a b", "open(url='x')"), use("x" * 500, "y" * 500), use("天気", "天気"), use("", "")],
    "inputs that are no objects": [
        {"toolUse": {"toolUseId": f"t{n}", "name": "page", "input": value}}
        for n, value in enumerate(["x", "", None, [], [1], 5, True, "{}"])
    ],
    "uses without parts": [{"toolUse": {}}, {"toolUse": {"toolUseId": "t1"}}, {"toolUse": {"name": "page"}}],
    "half surrogates": [use("t1", "page", {"\ud83d": "\ude00"}), {"text": "half \ud83d"}],
    "numbers that JSON lacks": [use("t1", "page", {"a": float("nan"), "b": float("inf"), "c": 10**40})],
    "an unknown block": [{"somethingNew": {"a": 1}}, use("t1", "page")],
    "unknown reasoning": [{"reasoningContent": {"somethingNew": {"a": 1}}}, use("t1", "page")],
    "a result": [{"toolResult": {"toolUseId": "t0", "content": [{"text": "x"}]}}, use("t1", "page")],
    "a cache point": [{"cachePoint": {"type": "default"}}, use("t1", "page")],
    "a tool use of the service": [{"toolUse": {"toolUseId": "t1", "name": "page", "input": {}, "type": "server"}}],
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_use_of_tools_is_answered_and_the_session_goes_on(whole: Whole, name: str) -> None:
    session = unique()
    with offering(whole, page):
        whole.play(Reply(UNUSUAL[name], "tool_use"), text_reply("done"), text_reply("later"))
        first = whole.direct(session_id=session)
        second = whole.direct("next", session_id=session)
    asked = sum("toolUse" in block for block in UNUSUAL[name])
    assert (first["answer"], len(first["tool_uses"])) == ("done", asked)
    assert (second["answer"], second["turn"]) == ("later", 2)
    assert json.dumps(first, ensure_ascii=False).encode()


def test_thousands_of_tool_uses_in_one_reply_are_answered_in_time_and_kept(whole: Whole) -> None:
    session = unique()
    with offering(whole, page):
        whole.play(Reply([use(f"t{n}", "page") for n in range(3_000)], "tool_use"), *[text_reply("done")] * 2)
        first = whole.direct(session_id=session)
        second = whole.direct("next", session_id=session)
    statuses = [each["status"] for each in first["tool_uses"]]
    assert (len(statuses), statuses.count("success")) == (3_000, 32)
    assert "saved" not in first
    assert second["turn"] == 2


def test_the_same_failing_call_again_and_again_ends_and_the_session_goes_on(whole: Whole) -> None:
    session = unique()
    with offering(whole, fail):
        whole.answer_with(lambda model_id, request: Reply([use("t1", "fail")], "tool_use"))
        first = whole.direct(session_id=session)
        assert (first["stop_reason"], first["steps"]) == ("step_limit", 10)
        assert first["answer"].strip()
        whole.play(text_reply("later"))
        assert whole.direct("next", session_id=session)["answer"] == "later"


def test_reasoning_is_kept_to_the_byte_across_the_table_before_a_side_effect(whole: Whole) -> None:
    session, other, use_id = unique(), unique(), unique("call")
    seen: list[dict[str, Any]] = []

    @tool(side_effects=True)
    def pay() -> str:
        """Pay."""
        seen.extend(whole.items(session))
        return "paid"

    reasoning = [
        reasoning_block("plan"),
        {"reasoningContent": {"redactedContent": base64.b64encode(b"\0\xff").decode()}},
    ]
    with offering(whole, pay):
        whole.play(Reply([*reasoning, use(use_id, "pay")], "tool_use"), text_reply("done"), text_reply("resumed"))
        whole.direct("pay", session_id=session, request_id="r")
        assert whole.requests[-1].body["messages"][1]["content"][:2] == reasoning
        # the function died just then: what stood in the table is all that is left
        [item] = seen
        left = {name: value for name, value in item.items() if name not in ("session_id", "turn")}
        whole.put(other, 1, **{**left, "lease_until": {"N": "1"}})
        resumed = whole.direct("pay", session_id=other, request_id="r")
    assert resumed["answer"] == "resumed"
    assert len(seen) == 1
    assert whole.requests[-1].body["messages"][1]["content"][:2] == reasoning


def test_reasoning_never_reaches_a_caller_or_a_later_turn(whole: Whole) -> None:
    session = unique()
    block = reasoning_block("SECRET-PLAN")
    whole.play(
        Reply([block, use(unique("t"), "sine", {"x": 1})], "tool_use"),
        Reply([reasoning_block("SECRET-END"), {"text": "done"}]),
        text_reply("later"),
    )
    first = whole.direct(session_id=session)
    whole.direct("next", session_id=session)
    assert "SECRET" not in json.dumps(first)
    assert "SECRET" not in json.dumps(whole.requests[-1].body)
    assert whole.function.entrance.app
    assert "SECRET" not in json.dumps(whole.function.entrance.app.sessions.read(session))


@pytest.mark.parametrize(
    "text",
    ["<thinking>plan</thinking>\nAnswer", "<thinking>a</thinking>Ans<thinking>b</thinking>wer", "Answer<thinking>"],
)
def test_thinking_in_tags_is_not_shown_now_or_later(whole: Whole, text: str) -> None:
    session = unique()
    whole.play({"text": text})
    assert whole.direct(session_id=session)["answer"].replace("<thinking>", "") == "Answer"
    assert whole.function.entrance.app
    [kept] = whole.function.entrance.app.sessions.read(session)
    assert kept["answer"].replace("<thinking>", "") == "Answer"


NESTED = b'{"a":' * 10_000 + b"1" + b"}" * 10_000
BROKEN: dict[str, bytes] = {
    "input nested 10,000 deep": answer(b'[{"toolUse":{"toolUseId":"t","name":"sine","input":%s}}]' % NESTED),
    "5,000 digits": answer(b'[{"toolUse":{"toolUseId":"t","name":"sine","input":{"x":%s}}}]' % (b"9" * 5_000)),
    "content of no blocks": answer(b'[null,5,"text",[]]', b"end_turn"),
    "content that is no list": answer(b'"text"', b"end_turn"),
    "two members in a block": answer(b'[{"text":"a","toolUse":{"toolUseId":"t","name":"sine","input":{}}}]'),
    "no member in a block": answer(b"[{}]", b"end_turn"),
    "text that is no text": answer(b'[{"text":5}]', b"end_turn"),
    "no UTF-8": answer(b'[{"text":"\xff\xfe"}]', b"end_turn"),
    "a list": b"[]",
    "null": b"null",
    "nothing": b"",
    "output is a text": b'{"output":"x","stopReason":"end_turn"}',
    "message is a list": b'{"output":{"message":[]},"stopReason":"end_turn"}',
    "no message": b'{"output":{},"stopReason":"end_turn"}',
    "usage is nonsense": b'{"output":{"message":{"role":"assistant","content":[{"text":"a"}]}},"usage":{"inputTokens":"x"}}',
    "usage is a list": b'{"output":{"message":{"role":"assistant","content":[{"text":"a"}]}},"usage":[]}',
    "half a surrogate as stop reason": answer(b'[{"text":"a"}]', b"\\ud83d"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_answer_that_no_model_should_send_is_no_failure_of_ours(whole: Whole, name: str) -> None:
    with answering(BROKEN[name]) as server:
        function = function_over(server.url)
        response, error = function.answer({"question": "hi", "session_id": unique()}, None)
        assert len(server.received) <= 10
    if error is None:
        assert json.dumps(response, ensure_ascii=False).encode()
        assert response
        assert response["answer"].strip()
    else:
        assert isinstance(error, AgentError)
        assert error.code in ("model_error", "model_unavailable")


def test_a_conversation_that_is_too_large_for_the_wire_sheds_its_history(whole: Whole) -> None:
    session = unique()
    whole.play(text_reply("one"), text_reply("two"))
    whole.direct("one", session_id=session)
    whole.direct("two", session_id=session)

    def small_pipe(model_id: str, request: dict[str, Any]) -> Reply:
        if len(request["messages"]) > 1:
            return error_reply("RequestEntityTooLargeException", 413, "Request body exceeded 20971520 bytes")
        return text_reply("three")

    whole.answer_with(small_pipe)
    assert whole.direct("three", session_id=session)["answer"] == "three"
