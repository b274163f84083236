"""A chat completion with a listener is asked for as a stream, is heard as it comes, and is the same in the end."""

from typing import Any

import pytest

from agent.adapters.openai.stream import gather
from agent.deadline import Deadline
from agent.errors import ModelError, ModelUnavailableError
from agent.ports import ModelReply
from tests.agent.adapters.openai.openai_client import SPEC, model_of, request
from tests.agent.adapters.openai.openai_server import Answer, OpenAIServer, call, completion, delta, error, stream

USAGE = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
END = {"object": "chat.completion.chunk", "choices": [], "usage": USAGE}
HELLO = stream(delta(content="Hel"), delta(content="lo"), delta(content=""), delta("stop"), END)


class Heard:
    """Remembers the text."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def text(self, text: str) -> None:
        self.pieces += [text] if text else []

    def void(self) -> None:
        self.pieces.clear()


def listen(*answers: Answer, **options: Any) -> tuple[ModelReply, list[str], list[dict[str, Any]]]:
    """The reply, what was heard of it, and what was asked."""
    heard = Heard()
    with OpenAIServer(*answers) as server:
        model = model_of(server, **options)
        answer = model.converse(request(tools=[SPEC]), Deadline.after(20), heard)
        return answer, heard.pieces, [each.body for each in server.asked]


def test_a_stream_is_asked_for_with_its_usage_and_heard_in_pieces() -> None:
    answer, heard, [asked] = listen(HELLO)
    assert (asked["stream"], asked["stream_options"]) == (True, {"include_usage": True})
    assert heard == ["Hel", "lo"]
    assert answer.content == [{"text": "Hello"}]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (20, 5)


def test_without_a_listener_nothing_is_streamed() -> None:
    with OpenAIServer(completion("Hello")) as server:
        model_of(server).converse(request(), Deadline.after(20))
        assert server.asked[0].body["stream"] is False
        assert "stream_options" not in server.asked[0].body


def test_streamed_calls_are_those_of_the_whole_answer() -> None:
    fragments = [
        delta(tool_calls=[{"index": 0, **call("a", arguments='{"te')}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": 'xt": "x"}'}}]),
        delta("tool_calls"),
        END,
    ]
    answer, heard, _ = listen(stream(*fragments))
    whole, _, _ = listen(completion(None, call("a", arguments='{"text": "x"}'), reason="tool_calls"))
    assert answer.content == whole.content
    assert (answer.stop_reason, answer.usage) == (whole.stop_reason, whole.usage)
    assert heard == []


def test_a_server_that_does_not_stream_is_heard_at_the_end() -> None:
    answer, heard, _ = listen(completion("Hello"))
    assert answer.content == [{"text": "Hello"}]
    assert heard == []  # the loop tells it


def test_a_server_that_refuses_to_tell_the_tokens_of_a_stream_is_asked_without_one_from_then_on() -> None:
    refused = error(400, "Unrecognized request argument supplied: stream_options", param="stream_options")
    heard = Heard()
    with OpenAIServer(refused, completion("Hello"), completion("Again")) as server:
        model = model_of(server)
        for text in ("Hello", "Again"):
            assert model.converse(request(), Deadline.after(20), heard).content == [{"text": text}]
        assert [each.body["stream"] for each in server.asked] == [True, False, False]


def test_a_stream_that_breaks_off_is_taken_back_and_asked_for_again() -> None:
    answer, heard, asked = listen(stream(delta(content="Half"), end=""), HELLO)
    assert answer.content == [{"text": "Hello"}]
    assert heard == ["Hel", "lo"]
    assert len(asked) == 2


@pytest.mark.parametrize("bad", ["data: {\n\n", "data: []\n\n", 'data: {"error": {"message": "no"}}\n\n'])
def test_garbage_in_a_stream_is_an_error_and_what_was_heard_is_taken_back(bad: str) -> None:
    heard = Heard()
    with OpenAIServer(*[stream(delta(content="Half"), end=bad)] * 3) as server:
        with pytest.raises((ModelError, ModelUnavailableError)):
            model_of(server).converse(request(), Deadline.after(20), heard)
        assert heard.pieces == []


@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain"])
def test_a_stream_may_begin_with_a_byte_order_mark(mark: str, kind: str) -> None:
    body = mark.encode() + HELLO.body
    answer, heard, _ = listen(Answer(body, kind=kind))
    assert answer.content == [{"text": "Hello"}]
    assert heard == ["Hel", "lo"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_pieces_may_end_anywhere(size: int, end: bytes) -> None:
    body = b"\xef\xbb\xbf" + HELLO.body.replace(b"\n", end)
    heard = Heard()
    answer = gather((body[at : at + size] for at in range(0, len(body), size)), listener=heard)
    assert answer["choices"][0]["message"]["content"] == "Hello"
    assert heard.pieces == ["Hel", "lo"]
