"""The whole function over llama.cpp's own server with a real, very small model: what is told of it is true."""

from collections.abc import Iterator
from typing import Any

import pytest

from agent.edge.function import Function
from agent.tooling.tool import tool
from tests.agent.edge.whole_function import Whole, running, unique
from tests.cases.functions import function_over, offering
from tests.real.servers import KEY, llama_cpp

pytestmark = pytest.mark.real

# Templates that refuse what those of real models do, in llama.cpp's own words around them.
_RAISES = "{%% for m in messages %%}{%% if %s %%}{{ raise_exception('%s') }}{%% endif %%}{%% endfor %%}"
_SAYS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)
TEMPLATES = {
    "ids": (
        "m.tool_calls and m.tool_calls[0].id|length != 9",
        "Tool call IDs should be alphanumeric strings with length 9!",
    ),
    "single": ("m.tool_calls and m.tool_calls|length != 1", "This model only supports single tool-calls at once!"),
    "roles": ("m.role == 'tool'", "Conversation roles must alternate user/assistant/user/assistant/..."),
    "system": ("m.role == 'system'", "System role not supported"),
}


@tool
def look() -> str:
    """Look."""
    return "a cat"


@pytest.fixture(scope="module")
def whole() -> Iterator[Whole]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def smol() -> Iterator[str]:
    with llama_cpp(key=KEY) as url:
        yield url


def over(url: str, **environment: str) -> Function:
    settings = {"MODEL_PROVIDER": "openai", "OPENAI_BASE_URL": url, "MODEL_ID": "smol", "OPENAI_API_KEY": KEY}
    return function_over(**{**settings, "MAX_TOKENS": "24", "TEMPERATURE": "0", **environment})


def answer_of(function: Function, question: str, session: str) -> dict[str, Any]:
    answer, error = function.answer({"question": question, "session_id": session}, None)
    assert error is None, (error, error.detail)
    assert isinstance(answer, dict)
    return answer


def test_three_turns_of_plain_chat(whole: Whole, smol: str) -> None:
    function, session = over(smol, TOOLS=""), unique()
    answers = [answer_of(function, question, session) for question in ("Say hello.", "Say it again.", "Thank you.")]
    assert [each["turn"] for each in answers] == [1, 2, 3]
    assert all(each["answer"].strip() and each["usage"]["output_tokens"] for each in answers)


def test_a_cut_answer_is_not_repeated_as_if_the_model_had_said_our_note(whole: Whole, smol: str) -> None:
    function, session = over(smol, MODEL_TOOL_USE="react", TOOLS="trial"), unique()
    first = answer_of(function, "Tell me a long story about a cat.", session)
    assert first["stop_reason"] == "max_tokens"
    assert "cut off" in first["answer"]
    second = answer_of(function, "Say only: Good night.", session)
    assert second["stop_reason"] == "max_tokens" or "cut off" not in second["answer"]
    assert "cut off" not in whole.items(session)[0]["messages"]["S"]


def test_react_with_the_real_model_ends_with_an_answer(whole: Whole, smol: str) -> None:
    function = over(smol, MODEL_TOOL_USE="react", TOOLS="trial", MAX_TOKENS="48", MAX_STEPS="2")
    answer = answer_of(function, "What is the sine of 0.5?", unique())
    assert answer["answer"].strip()
    assert answer["steps"] <= 2


def test_a_wrong_key_is_misconfigured(whole: Whole, smol: str) -> None:
    _, error = over(smol, OPENAI_API_KEY="wrong").answer({"question": "hi", "session_id": unique()}, None)
    assert error
    assert error.code == "misconfigured"


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_that_refuses_a_session_of_another_model_is_asked_in_another_form(whole: Whole, name: str) -> None:
    session = unique()
    with offering(whole, look):
        whole.play(
            {"tool_use": [{"id": each, "name": "look", "input": {}} for each in ("tooluse_0flBm4xyz", "t2")]},
            {"text": "Cats."},
        )
        whole.direct("look twice", session_id=session)
    with llama_cpp(template=_RAISES % TEMPLATES[name] + _SAYS) as url:
        function = over(url, TOOLS="", MAX_TOKENS="4")
        assert [answer_of(function, "hello", session)["turn"] for _ in range(2)] == [2, 3]


def test_a_conversation_beyond_the_context_sheds_its_history(whole: Whole) -> None:
    session = unique()
    whole.play({"text": "words " * 600})
    whole.direct("many words", session_id=session)
    with llama_cpp(context=512) as url:
        assert answer_of(over(url, TOOLS="", MAX_TOKENS="4"), "hello", session)["turn"] == 2
