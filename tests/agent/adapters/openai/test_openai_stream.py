"""Servers that stream although they were asked not to."""

from typing import Any

import pytest

from agent.errors import ModelError, ModelThrottledError, ModelUnavailableError
from agent.messages import Usage
from agent.ports import ModelReply
from tests.agent.adapters.openai.openai_client import ask
from tests.agent.adapters.openai.openai_server import Answer, OpenAIServer, completion, delta, stream


def fragment(index: Any = None, identifier: Any = None, name: Any = None, arguments: Any = None) -> dict[str, Any]:
    """A chunk with a part of a tool call; what is None is left out."""
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    parts = {"index": index, "id": identifier, "function": function}
    return delta(tool_calls=[{k: v for k, v in parts.items() if v is not None}])


def streamed(*chunks: Any, **options: Any) -> ModelReply:
    """The reply that a stream of these chunks makes."""
    with OpenAIServer(stream(*chunks, **options)) as server:
        return ask(server)


def calls_of(*fragments: Any) -> list[tuple[Any, Any, Any]]:
    """Id, name and input of the tool uses that these fragments make."""
    reply = streamed(*fragments, delta("tool_calls"))
    assert reply.stop_reason == "tool_use"
    uses = [block["toolUse"] for block in reply.content]
    return [(use["toolUseId"], use["name"], use["input"]) for use in uses]


def test_a_streamed_text_is_one_text_with_its_usage() -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    azure: dict[str, Any] = {"choices": [], "prompt_filter_results": []}
    reply = streamed(
        azure, delta(role="assistant", content=""), delta(content="hel"), delta(content="lo"), delta("stop"), usage
    )
    assert reply == ModelReply([{"text": "hello"}], "end_turn", Usage(7, 3), reply.model_id)


def test_fragments_gather_by_call_index_however_they_are_mixed() -> None:
    a, b = {"text": "a"}, {"text": "b"}
    fragments = [
        fragment(0, "c1", "echo", ""),
        fragment(1, "c2", "boom", '{"te'),
        fragment(0, None, None, '{"text":'),
        fragment(1, None, None, 'xt": "b"}'),
        fragment(0, None, None, ' "a"}'),
    ]
    assert calls_of(*fragments) == [("c1", "echo", a), ("c2", "boom", b)]


@pytest.mark.parametrize(
    "fragments",
    [
        # Ollama gives every call index 0
        [fragment(0, "c1", "echo", '{"text": "a"}'), fragment(0, "c2", "boom", "{}")],
        # no index at all
        [fragment(None, "c1", "echo", '{"text": "a"}'), fragment(None, "c2", "boom", "{}")],
        [
            fragment(None, "c1", "echo", '{"text"'),
            fragment(None, None, None, ': "a"}'),
            fragment(None, "c2", "boom", "{}"),
        ],
        # id and name with every fragment
        [
            fragment(0, "c1", "echo", '{"text"'),
            fragment(0, "c1", "echo", ': "a"}'),
            fragment(1, "c2", "boom", "{"),
            fragment(1, "c2", "boom", "}"),
        ],
        # a new id with every fragment
        [fragment(0, "c1", "echo", '{"text"'), fragment(0, "x", None, ': "a"}'), fragment(1, "c2", "boom")],
        # names in pieces, the id behind
        [fragment(0, None, "ec"), fragment(0, "c1", "ho", '{"text": "a"}'), fragment(1, "c2", "boom", {})],
        # all in one chunk
        [
            delta(
                tool_calls=[
                    {"index": 0, "id": "c1", "function": {"name": "echo", "arguments": {"text": "a"}}},
                    {"index": 1, "id": "c2", "function": {"name": "boom", "arguments": None}},
                ]
            )
        ],
    ],
)
def test_the_mistakes_of_servers_do_not_mix_up_calls(fragments: list[Any]) -> None:
    assert calls_of(*fragments) == [("c1", "echo", {"text": "a"}), ("c2", "boom", {})]


def test_calls_without_index_and_id_begin_with_their_name() -> None:
    assert calls_of(fragment(None, None, "echo", "{}"), fragment(None, None, "boom", "{}")) == [
        (None, "echo", {}),
        (None, "boom", {}),
    ]


def test_the_older_function_call_gathers_too() -> None:
    parts = [delta(function_call={"name": "echo", "arguments": ""}), delta(function_call={"arguments": "{}"})]
    assert calls_of(*parts) == [(None, "echo", {})]


def test_broken_arguments_of_a_stream_are_passed_on() -> None:
    assert calls_of(fragment(0, "c1", "echo", '{"text": ')) == [("c1", "echo", '{"text": ')]


def test_comments_event_names_line_ends_and_other_choices_are_read_over() -> None:
    other = '{"choices": [{"index": 1, "delta": {"content": "other"}}]}'
    one = (
        '{"choices": [{"index": 0, "delta": {"content": "hello", "reasoning_content": "hm"}, "finish_reason": "stop"}]}'
    )
    body = f": PROCESSING\r\n\r\nevent: chunk\r\ndata:{one}\r\nid: 1\r\n\r\ndata: {other}\r\n\r\ndata: [DONE]\r\n\r\n"
    with OpenAIServer(Answer(body.encode(), kind="text/event-stream")) as server:
        assert ask(server).content == [{"text": "hello"}]


def test_a_refusal_and_a_whole_message_in_a_stream_are_its_text() -> None:
    assert streamed(delta(refusal="I "), delta("stop", refusal="can't.")).content == [{"text": "I can't."}]
    whole = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}
    assert streamed(whole).content == [{"text": "hello"}]


def test_a_stream_is_known_without_its_content_type_and_ends_with_its_reason() -> None:
    assert streamed(delta("stop", content="hello"), kind="application/json", end="").content == [{"text": "hello"}]


@pytest.mark.parametrize(
    ("error", "raised", "times"),
    [
        ({"message": "overloaded", "type": "server_error", "code": None}, ModelUnavailableError, 3),
        ({"message": "slow down", "type": "rate_limit_exceeded"}, ModelThrottledError, 3),
        ({"message": "no", "type": "BadRequestError", "code": 400}, ModelError, 1),
    ],
)
def test_an_error_within_a_stream_is_raised_as_what_it_is(error: Any, raised: Any, times: int) -> None:
    answers = [stream(delta(content="hel"), {"error": error}) for _ in range(3)]
    with OpenAIServer(*answers) as server, pytest.raises(raised):
        ask(server)
    assert len(server.asked) == times


@pytest.mark.parametrize(
    "broken",
    [
        stream(delta(content="hel"), end=""),
        stream(delta(content="hel"), end='data: {"choices": [{"de'),
        stream(delta(content="hel"), end="data: 5\n\n"),
        stream(),
    ],
)
def test_a_stream_that_breaks_off_is_asked_for_again(broken: Answer) -> None:
    with OpenAIServer(broken, completion("whole")) as server:
        assert ask(server).content == [{"text": "whole"}]
