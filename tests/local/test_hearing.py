"""A turn at the terminal while it runs."""

import io
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from local.hearing import EventReader, Hearing
from local.screen import Screen

START = ("start", {"session_id": "s", "request_id": "r", "turn": 1})


def sse(*events: tuple[str, Any]) -> bytes:
    return b": \n\n" + b"".join(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode() for name, data in events)


def record(tool_use_id: str) -> logging.LogRecord:
    """A tool use as the function logs it."""
    made = logging.LogRecord("agent", logging.INFO, "", 0, "tool use", (), None)
    vars(made).update(
        {"gen_ai.tool.name": "sine", "gen_ai.tool.call.id": tool_use_id, "status": "success", "milliseconds": 3}
    )
    return made


class Function:
    """Streams these events in pieces; `before` is called with the hearing before each of them."""

    def __init__(self, *events: tuple[str, Any], before: Callable[[str], None] = lambda name: None) -> None:
        self.events, self.before = events, before

    def invoke(self, event: Any, on_chunk: Callable[[bytes], object] = lambda chunk: None) -> tuple[Any, bool]:
        assert event["stream"] is True
        for each in self.events:
            self.before(each[0])
            data = sse(each)
            on_chunk(data[:9])
            on_chunk(data[9:])
        return sse(*self.events).decode(), True


@pytest.fixture
def shown() -> io.StringIO:
    return io.StringIO()


def text(step: int, said: str) -> tuple[str, Any]:
    return "text", {"step": step, "text": said}


def answer(said: str, steps: int = 1) -> tuple[str, Any]:
    return "answer", {"answer": said, "steps": steps, "stop_reason": "end_turn"}


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_events_are_read_out_of_chunks_that_end_anywhere(size: int) -> None:
    body, reader = sse(START, text(1, "日本\n\nevent: x: y"), answer("a")), EventReader()
    found = [each for at in range(0, len(body), size) for each in reader.read(body[at : at + size])]
    assert found == [START, text(1, "日本\n\nevent: x: y"), answer("a")]


def test_text_and_tool_uses_are_shown_in_their_order_and_nothing_twice(shown: io.StringIO) -> None:
    hearing = Hearing(Screen(shown))
    tool = {"step": 1, "tool_use_id": "t", "name": "sine"}
    events = [START, text(1, "Let me "), text(1, "see."), ("tool_use", tool)]
    events += [("tool_result", {**tool, "status": "success", "milliseconds": 3}), text(2, "It is "), text(2, "so.")]

    def before(name: str) -> None:
        if name == "tool_use":  # the log may be quicker than the stream
            hearing.record(record("t"))

    result, succeeded = hearing.ask(Function(*events, answer("It is so.", 2), before=before), {"question": "hi"})
    assert (result["answer"], succeeded) == ("It is so.", True)
    lines = [line.split() for line in shown.getvalue().splitlines()]
    assert lines == [
        ["answer", "Let", "me", "see."],
        ["tool", "sine", "success", "3", "ms"],
        ["answer", "It", "is", "so."],
    ]


def test_what_the_answer_adds_is_shown_behind_what_was_shown(shown: io.StringIO) -> None:
    Hearing(Screen(shown)).ask(Function(START, text(1, "It is"), answer("It is\n\nCut off.")), {})
    assert [line.split() for line in shown.getvalue().splitlines()] == [["answer", "It", "is"], [], ["Cut", "off."]]


def test_text_that_does_not_count_is_told_and_the_answer_is_shown_whole(shown: io.StringIO) -> None:
    void = ("void", {"step": 1})
    Hearing(Screen(shown)).ask(Function(START, text(1, "Hal"), void, text(1, "Whole."), answer("Whole.")), {})
    assert [line.split() for line in shown.getvalue().splitlines()] == [
        ["answer", "Hal"],
        ["(That", "does", "not", "count.)"],
        ["answer", "Whole."],
    ]


def test_an_error_ends_the_text_and_is_the_outcome(shown: io.StringIO) -> None:
    error = {"error": {"code": "model_error", "message": "no"}, "request_id": "i"}
    result, succeeded = Hearing(Screen(shown)).ask(Function(START, text(1, "Hal"), ("error", error)), {})
    assert (result, succeeded) == (error, False)
    assert shown.getvalue().endswith("Hal\n")


def test_a_function_that_streams_nothing_is_shown_in_the_end(shown: io.StringIO) -> None:
    class Plain:
        def invoke(self, event: Any, on_chunk: Any = None) -> tuple[Any, bool]:
            hearing.record(record("t"))
            return {"answer": "All of it."}, True

    hearing = Hearing(Screen(shown))
    assert hearing.ask(Plain(), {}) == ({"answer": "All of it."}, True)
    assert [line.split()[0] for line in shown.getvalue().splitlines()] == ["tool", "answer"]


def test_what_a_model_says_does_not_act_on_the_terminal(shown: io.StringIO) -> None:
    Hearing(Screen(shown)).ask(Function(START, text(1, "a\x1b[2Jb"), answer("a\x1b[2Jb")), {})
    assert "\x1b" not in shown.getvalue()
