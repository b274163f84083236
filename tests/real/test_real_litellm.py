"""The whole function behind LiteLLM's proxy, which asks the stand-in for Bedrock, which keeps Bedrock's rules."""

import json
import subprocess
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

from agent.deadline import Deadline
from agent.edge.function import Function
from agent.errors import ToolError
from agent.messages import user_text
from agent.ports import ModelRequest
from agent.tooling.tool import tool
from agent.turn.telling import Telling
from local.bedrock.reply import reasoning_block
from tests.agent.edge.whole_function import Whole, running, unique
from tests.cases.functions import function_over, offering
from tests.fakes import CLAUDE, Heard
from tests.real.servers import KEY, litellm

pytestmark = pytest.mark.real


@tool
def square(number: Annotated[int, "what to square"]) -> int:
    """Square a number."""
    return number * number


@tool
def fail() -> str:
    """Fail."""
    raise ToolError("The shop is closed.")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Whole, str, subprocess.Popen[str]]]:
    with running() as whole, litellm(whole.server.url, tmp_path_factory.mktemp("litellm"), CLAUDE) as (url, process):
        yield whole, url, process


def behind(url: str, **environment: str) -> Function:
    settings = {"MODEL_PROVIDER": "openai", "OPENAI_BASE_URL": url, "MODEL_ID": "claude", "OPENAI_API_KEY": KEY}
    return function_over(**{**settings, **environment})


def ask(proxy: tuple[Whole, str, Any], question: str, session: str = "", **environment: str) -> dict[str, Any]:
    whole, url, _ = proxy
    function = behind(url, **environment)
    with offering(Whole(function, whole.server, whole.dynamodb), square, fail):
        answer, error = function.answer({"question": question, "session_id": session or unique()}, None)
    assert error is None, (error, error.detail)
    assert isinstance(answer, dict)
    return answer


def failure(proxy: tuple[Whole, str, Any], **environment: str) -> Any:
    _, error = behind(proxy[1], **environment).answer({"question": "hi", "session_id": unique()}, None)
    assert error
    return error


def test_plain_chat(proxy: Any) -> None:
    proxy[0].play({"text": "Hello there."})
    answer = ask(proxy, "hi")
    assert (answer["answer"], answer["stop_reason"]) == ("Hello there.", "end_turn")
    assert answer["usage"]["output_tokens"] > 0


def test_one_tool(proxy: Any) -> None:
    proxy[0].play({"tool_use": {"id": "t1", "name": "square", "input": {"number": 7}}}, {"text": "49."})
    answer = ask(proxy, "What is 7 squared?")
    assert (answer["answer"], [each["status"] for each in answer["tool_uses"]]) == ("49.", ["success"])


def test_parallel_tools_and_one_that_fails(proxy: Any) -> None:
    calls = [{"id": "t1", "name": "square", "input": {"number": 2}}, {"id": "t2", "name": "fail", "input": {}}]
    proxy[0].play({"text": "Both.", "tool_use": calls}, {"text": "4, and closed."})
    answer = ask(proxy, "Both?")
    assert [each["status"] for each in answer["tool_uses"]] == ["success", "error"]
    assert "The shop is closed." in json.dumps(proxy[0].requests[-1].body)


def test_three_turns_of_one_session(proxy: Any) -> None:
    session = unique()
    proxy[0].play(
        {"text": "One."},
        {"tool_use": {"id": "t1", "name": "square", "input": {"number": 2}}},
        {"text": "Four."},
        {"text": "Three."},
    )
    answers = [ask(proxy, question, session) for question in ("one", "two squared", "three")]
    assert [(each["answer"], each["turn"]) for each in answers] == [("One.", 1), ("Four.", 2), ("Three.", 3)]
    assert "Four." in json.dumps(proxy[0].requests[-1].body)


def test_reasoning_goes_back_through_the_proxy_with_its_signature(proxy: Any) -> None:
    call = {"id": "t1", "name": "square", "input": {"number": 3}}
    proxy[0].play({"reasoning": "I need the square first.", "tool_use": call}, {"text": "9."})
    fields = json.dumps({"thinking": {"type": "enabled", "budget_tokens": 1024}})
    assert ask(proxy, "3 squared?", MODEL_REQUEST_FIELDS=fields)["answer"] == "9."
    assert reasoning_block("I need the square first.") in proxy[0].requests[-1].body["messages"][1]["content"]


def test_a_streamed_answer_is_heard_while_it_comes(proxy: Any) -> None:
    proxy[0].play({"text": "One word after the other."})
    app = behind(proxy[1]).entrance.app
    assert app
    heard = Heard()
    telling = Telling(heard)
    telling.begin(1)
    reply = app.sessions.models[0].converse(ModelRequest("", [user_text("hi")], []), Deadline.after(60), telling)
    telling.end("One word after the other.")
    assert reply.content == [{"text": "One word after the other."}]
    assert heard.shown[1] == "One word after the other."


def test_a_wrong_key_is_misconfigured(proxy: Any) -> None:
    error = failure(proxy, OPENAI_API_KEY="sk-wrong")
    assert error.code == "misconfigured"
    assert "API key" in error.detail


def test_a_model_that_does_not_exist_is_misconfigured_and_another_takes_over(proxy: Any) -> None:
    assert failure(proxy, MODEL_ID="nosuch").code == "misconfigured"
    proxy[0].play({"text": "Here."})
    answer = ask(proxy, "hi", MODEL_ID="nosuch", FALLBACK_MODEL_IDS="claude")
    assert (answer["answer"], answer["model_id"]) == ("Here.", "claude")


def test_a_model_that_is_gone_in_the_middle_is_unavailable_and_the_session_goes_on(proxy: Any) -> None:
    session = unique()
    proxy[0].play(*[{"drop": "middle", "text": "half"}] * 20)
    _, error = behind(proxy[1]).answer({"question": "hi", "session_id": session}, None)
    assert error
    assert error.code == "model_unavailable"
    proxy[0].play({"text": "Back."})
    assert ask(proxy, "again", session)["turn"] == 1


def test_a_proxy_that_dies_is_unavailable(proxy: Any) -> None:
    proxy[2].kill()  # the last test of this file
    proxy[2].wait()
    assert failure(proxy).code == "model_unavailable"
