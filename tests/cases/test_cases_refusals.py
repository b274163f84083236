"""Sessions that meet another model, over the wire: what one server or model wrote must not brick them at the next."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from agent.edge.function import Function
from agent.tooling.tool import tool
from local.bedrock.reply import Reply, error_reply, reasoning_block, text_reply
from tests.agent.adapters.openai.openai_server import Answer, OpenAIServer, asks, call, completion, error
from tests.agent.edge.whole_function import Whole, unique
from tests.cases.functions import function_over, offering
from tests.fakes import CLAUDE, FABLE, use

LONG_ID = "call_abc__thought__" + "x" * 800


@tool
def look(word: str = "") -> str:
    """Look it up."""
    return f"found {word}"


def over(whole: Whole, server: OpenAIServer, **environment: str) -> Function:
    """The function with a model behind this server, over the table of the other one, with one tool."""
    function = function_over(MODEL_PROVIDER="openai", OPENAI_BASE_URL=server.url, MODEL_ID="m", **environment)
    with offering(Whole(function, whole.server, whole.dynamodb), look):
        entrance = function.entrance
    function.entrance = entrance
    return function


@pytest.fixture
def session(whole: Whole) -> str:
    """A session with one turn, kept by Bedrock's model: two parallel calls, then an answer."""
    name = unique()
    with offering(whole, look):
        whole.play(Reply([use("tooluse_0flBm4xyz", "look"), use("tooluse_1", "look")], "tool_use"), text_reply("Two."))
        whole.direct("look twice", session_id=name)
    return name


def ask(function: Function, session: str, question: str = "hello") -> dict[str, Any]:
    answer, failed = function.answer({"question": question, "session_id": session}, None)
    assert failed is None, failed
    assert isinstance(answer, dict)
    return answer


def sent(server: OpenAIServer) -> Iterator[list[dict[str, Any]]]:
    return (asked.body["messages"] for asked in server.asked)


def test_ids_that_a_server_refuses_are_mapped_and_stay_so(whole: Whole, session: str) -> None:
    refusal = error(500, "raise_exception: Tool call IDs should be alphanumeric strings with length 9! Error: Jinja")
    with OpenAIServer(refusal, completion("one"), completion("two")) as server:
        function = over(whole, server)
        assert [ask(function, session)["answer"] for _ in range(2)] == ["one", "two"]
    first, second, third = ([m["tool_call_id"] for m in messages if m["role"] == "tool"] for messages in sent(server))
    assert first == ["tooluse_0flBm4xyz", "tooluse_1"]
    assert second == third
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", each) for each in second)


def test_a_model_of_single_calls_gets_them_one_after_the_other(whole: Whole, session: str) -> None:
    with OpenAIServer(error(400, "This model only supports single tool-calls at once!"), completion("one")) as server:
        assert ask(over(whole, server), session)["answer"] == "one"
    _, messages = sent(server)
    assert [len(m["tool_calls"]) for m in messages if "tool_calls" in m] == [1, 1]


def test_a_template_without_tool_messages_gets_them_in_words(whole: Whole, session: str) -> None:
    with OpenAIServer(error(400, "Conversation roles must alternate user/assistant/..."), completion("one")) as server:
        assert ask(over(whole, server), session)["answer"] == "one"
    _, messages = sent(server)
    assert {m["role"] for m in messages} <= {"system", "user", "assistant"}
    assert "found" in json.dumps(messages)


def test_a_call_that_the_server_could_not_read_is_told_to_the_model_once(whole: Whole) -> None:
    refusal = error(400, "tool call validation failed: parameters for tool look did not match", "tool_use_failed")
    with OpenAIServer(refusal, asks(call("c1", "look")), completion("done")) as server:
        assert ask(over(whole, server), unique())["answer"] == "done"
    assert "did not match" in server.asked[1].body["messages"][-1]["content"]


@pytest.mark.parametrize("refusal", [error(429, "Request too large for x: Limit 30000, Requested 34567.")])
def test_what_never_fits_into_a_minute_halves_the_history(whole: Whole, session: str, refusal: Answer) -> None:
    with OpenAIServer(refusal, completion("one")) as server:
        assert ask(over(whole, server), session)["answer"] == "one"
    before, after = sent(server)
    assert len(before) > len(after)


def test_another_model_takes_over_from_one_that_does_not_exist(whole: Whole) -> None:
    unknown = error(400, "Invalid model name passed in model=m. Call `/v1/models`", "400")
    with OpenAIServer(unknown, completion("I am here.")) as server:
        answer = ask(over(whole, server, FALLBACK_MODEL_IDS="other/model"), unique())
    assert (answer["answer"], answer["model_id"]) == ("I am here.", "other/model")


def test_a_long_id_is_the_servers_within_its_turn_and_one_that_bedrock_takes_afterwards(whole: Whole) -> None:
    name = unique()
    with OpenAIServer(asks(call(LONG_ID, "look", '{"word": "x"}')), completion("done")) as server:
        assert ask(over(whole, server), name)["answer"] == "done"
    assert server.asked[1].body["messages"][-1]["tool_call_id"] == LONG_ID
    with offering(whole, look):
        whole.play(text_reply("later"))
        assert whole.direct("and now?", session_id=name)["answer"] == "later"
    assert not whole.requests[-1].violations
    assert "thought" not in json.dumps(whole.requests[-1].body)


def test_a_system_text_that_the_model_does_not_take_stands_before_the_first_question(whole: Whole) -> None:
    function = function_over(whole.server.url)

    def model(model_id: str, request: dict[str, Any]) -> Reply:
        told = "This model doesn't support system messages. Try again without a system message or use another model."
        return error_reply("ValidationException", 400, told) if "system" in request else text_reply("Fine.")

    whole.answer_with(model)
    assert [ask(function, unique())["answer"] for _ in range(2)] == ["Fine.", "Fine."]
    assert ["system" in request.body for request in whole.requests] == [True, False, False]


def test_reasoning_goes_to_no_other_model_when_a_waiting_turn_goes_on(whole: Whole) -> None:
    @tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    name = unique()
    with offering(whole, pay):
        whole.play(Reply([reasoning_block("plan"), use(unique("t"), "pay")], "tool_use"))
        waiting = whole.direct("pay", session_id=name)
    [entry] = waiting["approvals"]
    names = {entry.get("approval_id", entry["tool_use_id"]): True}
    later = function_over(whole.server.url, MODEL_ID=FABLE)
    with offering(Whole(later, whole.server, whole.dynamodb), pay):
        whole.play(text_reply("Paid."))
        answer, failed = later.answer({"session_id": name, "approvals": names}, None)
    assert failed is None
    assert answer
    assert answer["answer"] == "Paid."
    assert [request.model_id for request in whole.requests[-2:]] == [CLAUDE, FABLE]
    assert "reasoningContent" not in json.dumps(whole.requests[-1].body)
    assert not whole.requests[-1].violations


def test_our_notes_are_the_callers_and_never_the_models_to_read(whole: Whole) -> None:
    name = unique()
    whole.play(Reply([{"text": "Once upon a"}], "max_tokens"), text_reply("Good night."))
    cut = whole.direct("tell me a story", session_id=name, request_id="r1")
    assert cut["answer"] == "Once upon a\n\nThe answer was cut off: it reached the length limit of one answer."
    assert whole.direct("good night", session_id=name)["answer"] == "Good night."
    assert whole.requests[-1].body["messages"][1]["content"] == [{"text": "Once upon a"}]
    assert "cut off" not in whole.items(name)[0]["messages"]["S"]
    assert whole.direct("tell me a story", session_id=name, request_id="r1") == cut
    assert whole.function.entrance.app
    assert [each["answer"] for each in whole.function.entrance.app.sessions.read(name)] == [
        cut["answer"],
        "Good night.",
    ]


def test_what_a_server_sent_beside_a_call_goes_back_to_it_after_a_yes(whole: Whole) -> None:
    ran: list[str] = []

    @tool(needs_approval=True)
    def pay() -> str:
        """Pay."""
        ran.append("paid")
        return "paid"

    name, beside = unique(), {"reasoning_content": "hm", "thinking_blocks": [{"type": "thinking", "signature": "c2ln"}]}
    asked = call(LONG_ID, "pay") | {"extra_content": {"google": {"thought_signature": "AY89"}}}
    with OpenAIServer(completion("", asked, reason="tool_calls", **beside), completion("Paid.")) as server:
        waiting = answer_in_a_new_process(whole, server, pay, {"question": "pay", "session_id": name})
        verdicts = {each["approval_id"]: True for each in waiting["approvals"]}
        answer = answer_in_a_new_process(whole, server, pay, {"approvals": verdicts, "session_id": name})
    assert (answer["answer"], ran) == ("Paid.", ["paid"])
    *_, told, result = server.asked[1].body["messages"]
    assert told["tool_calls"] == [asked]
    assert beside.items() <= told.items()
    assert result["tool_call_id"] == LONG_ID


def answer_in_a_new_process(whole: Whole, server: OpenAIServer, offered: Any, event: dict[str, Any]) -> dict[str, Any]:
    function = over(whole, server)
    with offering(Whole(function, whole.server, whole.dynamodb), offered):
        answer, failed = function.answer(event, None)
    assert failed is None
    assert isinstance(answer, dict)
    return answer
