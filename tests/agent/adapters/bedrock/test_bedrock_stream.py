"""The events of a streamed Converse answer give the very answer that Converse would have given, and its text on the way."""

import base64
import json
from typing import Any

import pytest

from agent.adapters.bedrock.stream import gather
from agent.aws.errors import ServiceError, UnreadableError
from agent.aws.event_stream import events
from local.bedrock.event_stream import frames
from local.bedrock.reply import ErrorReply, Reply, reasoning_block

USAGE = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}


class Heard:
    """Remembers the text."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def text(self, text: str) -> None:
        self.pieces.append(text)

    def void(self) -> None:
        self.pieces.append("<void>")


def gathered(*content: Any, stop_reason: str = "end_turn") -> tuple[dict[str, Any], Heard]:
    heard = Heard()
    return gather(events(frames(Reply(list(content), stop_reason), USAGE, 5)), heard), heard


def use(tool_input: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": "a", "name": "echo", "input": tool_input}}


REDACTED = {"reasoningContent": {"redactedContent": base64.b64encode(b"\0\xff" * 9).decode()}}
BLOCKS: dict[str, list[Any]] = {
    "a text": [{"text": "The sine of 1 is 0.84, to two digits."}],
    "an empty text": [{"text": ""}],
    "two texts": [{"text": "One."}, {"text": "Two."}],
    "a tool use": [{"text": "I look."}, use({"text": "x" * 100, "n": [1, {"a": None}], "ü": "日本"})],
    "a tool use without input": [use({})],
    "two tool uses": [use({"a": 1}), {"toolUse": {"toolUseId": "b", "name": "other", "input": {"b": 2}}}],
    "a tool use cut in the middle": [use('{"text": "hal')],
    "reasoning": [reasoning_block("Let me think about it for a while."), {"text": "Yes."}],
    "reasoning without a signature": [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "Yes."}],
    "redacted reasoning": [REDACTED, {"text": "Yes."}],
    "a block of an unknown kind": [{"somethingNew": {"a": 1}}, {"text": "Yes."}],
    "nothing": [],
}


@pytest.mark.parametrize("name", BLOCKS)
def test_the_blocks_are_those_of_the_answer(name: str) -> None:
    answer, _ = gathered(*BLOCKS[name], stop_reason="tool_use")
    assert answer["output"] == {"message": {"role": "assistant", "content": BLOCKS[name]}}
    assert (answer["stopReason"], answer["usage"]) == ("tool_use", USAGE)


def test_text_is_heard_in_pieces_and_reasoning_is_not() -> None:
    text = "The sine of 1 is 0.84, to two digits."
    _, heard = gathered(reasoning_block("hm"), {"text": text}, use({"a": "not said"}), {"text": "More."})
    assert len(heard.pieces) > 2
    assert "".join(heard.pieces) == f"{text}\nMore."


def event(name: str, data: Any) -> tuple[str, bytes]:
    return name, data if isinstance(data, bytes) else json.dumps(data).encode()


STOP = event("messageStop", {"stopReason": "end_turn"})
TEXT = event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "a"}})


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [TEXT],
        [TEXT, event("metadata", {"usage": USAGE})],
        [TEXT, event("contentBlockDelta", b"{"), STOP],
        [TEXT, event("contentBlockDelta", b"[" * 100_000), STOP],
        [TEXT, event("messageStop", [])],
        [TEXT, event("messageStop", "end_turn")],
    ],
)
def test_a_stream_that_breaks_off_or_holds_garbage_is_unreadable(sent: list[tuple[str, bytes]]) -> None:
    with pytest.raises(UnreadableError):
        gather(sent, Heard())


@pytest.mark.parametrize(
    "odd",
    [
        event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": ""}}),
        event("contentBlockDelta", {"contentBlockIndex": 0}),
        event("contentBlockDelta", {"delta": None}),
        event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": None}}),
        event("contentBlockStart", {"contentBlockIndex": 0, "start": {}}),
        event("contentBlockStop", {"contentBlockIndex": 7}),
        event("somethingNew", {"text": "no"}),
        event("messageStart", {"role": "assistant"}),
    ],
)
def test_odd_events_change_nothing(odd: tuple[str, bytes]) -> None:
    heard = Heard()
    answer = gather([odd, TEXT, odd, STOP], heard)
    assert answer["output"]["message"]["content"][-1]["text"] == "a"
    assert "".join(heard.pieces) == "a"


def test_an_exception_in_the_stream_is_raised_behind_what_was_heard() -> None:
    heard = Heard()
    reply = Reply([{"text": "Half an answer"}], error=ErrorReply("ThrottlingException", in_stream=True, message="slow"))
    with pytest.raises(ServiceError) as raised:
        gather(events(frames(reply, USAGE, 5)), heard)
    assert raised.value.code == "ThrottlingException"
    assert "".join(heard.pieces) == "Half an answer"


def test_a_million_characters_are_gathered_in_linear_time() -> None:
    pieces = [event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "x" * 20}})] * 50_000
    answer = gather([*pieces, STOP], Heard())
    assert len(answer["output"]["message"]["content"][0]["text"]) == 1_000_000
