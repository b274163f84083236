"""The way out: a writer of its own, a queue of bounded size, comments against silence, and readers who don't read."""

import json
import threading
import time
from typing import Any

import pytest

from agent.edge.events import http_request
from agent.edge.streams import Streamed, Streams
from tests.agent.edge.gateway_events import events_of, function_url

STEP = {"session_id": "s", "turn": 1}


class FakeOutlet:
    """Remembers what was written. While `holds` is set, writing waits until the way is cut."""

    def __init__(self, *, holds: bool = False, breaks_after: int = 10**9) -> None:
        self.written: list[bytes] = []
        self.is_closed = self.is_cut = False
        self._open = threading.Event()
        self._breaks_after = breaks_after
        self.writing = threading.Event()
        if not holds:
            self._open.set()

    def release(self) -> None:
        self._open.set()

    def write(self, data: bytes) -> None:
        self.writing.set()
        if len(self.written) >= self._breaks_after:
            raise BrokenPipeError("gone")
        self._open.wait(20)
        if self.is_cut:
            raise OSError("cut")
        self.written.append(data)

    def close(self) -> None:
        self.is_closed = True

    def cut(self) -> None:
        self.is_cut = not self.is_closed
        self._open.set()

    @property
    def events(self) -> list[tuple[str, Any]]:
        return events_of(b"".join(self.written))


def streamed(outlet: FakeOutlet, *, quiet: float = 8.0) -> tuple[Streamed, list[str]]:
    """A direct event's stream over the outlet, and what it warns of."""
    warnings: list[str] = []
    streams = Streams(
        lambda invocation, kind: outlet, lambda message, **more: warnings.append(f"{message} {more}"), quiet
    )
    return streams.of({"stream": True}, None, "i", ()), warnings


def begun(outlet: FakeOutlet, *, quiet: float = 8.0) -> tuple[Streamed, list[str]]:
    """The same, once its turn has started."""
    stream, warnings = streamed(outlet, quiet=quiet)
    assert stream.listener
    stream.listener.start("s", "r", 1)
    stream.listener.begin(1)
    return stream, warnings


def test_nothing_is_sent_before_the_turn_starts() -> None:
    outlet = FakeOutlet()
    stream, _ = streamed(outlet)
    assert stream.end({"error": {}}, True, 60) is False
    assert outlet.written == []
    assert not outlet.is_closed


def test_a_quiet_stream_sends_comments() -> None:
    outlet = FakeOutlet()
    stream, _ = begun(outlet, quiet=0.01)
    limit = time.monotonic() + 10
    while outlet.written.count(b": \n\n") < 3:
        assert time.monotonic() < limit
    assert stream.end({}, False, 60)
    assert b"".join(outlet.written).endswith(b"event: answer\ndata: {}\n\n")


def test_comments_come_at_least_every_ten_seconds() -> None:
    assert Streams(lambda *_: None, lambda *_: None).quiet < 10


def test_for_a_reader_who_does_not_read_at_most_a_megabyte_waits() -> None:
    outlet = FakeOutlet(holds=True)
    stream, _ = begun(outlet)
    assert stream.listener
    assert outlet.writing.wait(10)
    for _ in range(3_000):
        stream.listener.text("x" * 1_000)
    stream.listener.end("")
    waiting = sum(len(each) for each in stream._waiting)
    assert 900_000 < waiting < 1_001_000
    outlet.release()
    assert stream.end({"answer": "whole"}, False, 60)
    names = [name for name, _ in outlet.events]
    # text alone is left out: what takes it back, and the answer, are there
    assert names[-2:] == ["void", "answer"]
    assert 900 < names.count("text") < 1_000


def test_once_text_is_left_out_no_later_text_of_the_stream_comes() -> None:
    outlet = FakeOutlet(holds=True)
    stream, _ = begun(outlet)
    assert stream.listener
    assert outlet.writing.wait(10)
    stream.listener.text("x" * 2_000_000)
    stream.listener.text("tail")
    outlet.release()
    assert stream.end({}, False, 60)
    assert [name for name, _ in outlet.events] == ["start", "answer"]


def test_a_reader_who_never_reads_is_waited_for_until_a_second_before_the_end_then_cut() -> None:
    outlet = FakeOutlet(holds=True)
    stream, warnings = begun(outlet)
    began = time.monotonic()
    assert stream.end({"answer": "whole"}, False, 1.3)
    assert 0.2 < time.monotonic() - began < 1.2
    assert outlet.is_cut
    assert not outlet.is_closed
    assert len(warnings) == 1


def test_a_slow_reader_gets_everything_in_order() -> None:
    outlet = FakeOutlet(holds=True)
    stream, warnings = begun(outlet)
    assert stream.listener
    for word in ("one ", "two ", "three"):
        stream.listener.text(word)
    stream.listener.end("one two three")
    timer = threading.Timer(0.05, outlet.release)
    timer.start()
    assert stream.end({"answer": "one two three"}, False, 60)
    timer.join()
    assert "".join(data["text"] for name, data in outlet.events if name == "text") == "one two three"
    assert outlet.events[-1] == ("answer", {"answer": "one two three"})
    assert (warnings, outlet.is_closed) == ([], True)


def test_where_the_way_breaks_the_turn_goes_on_and_nothing_is_sent_again() -> None:
    outlet = FakeOutlet(breaks_after=1)
    stream, warnings = begun(outlet)
    assert stream.listener
    limit = time.monotonic() + 10
    while not outlet.is_cut:
        stream.listener.text("x ")
        assert time.monotonic() < limit
    for _ in range(1_000):
        stream.listener.text("x" * 10_000)
    assert sum(map(len, stream._waiting)) == 0
    assert stream.end({}, False, 60) is True
    assert len(outlet.written) == 1
    assert "BrokenPipeError" in warnings[0]


def test_after_its_end_a_stream_sends_nothing() -> None:
    outlet = FakeOutlet()
    stream, _ = begun(outlet)
    assert stream.end({}, False, 60)
    written = list(outlet.written)
    assert stream.listener
    stream.listener.text("late")
    assert outlet.written == written


@pytest.mark.parametrize("seconds", [60.0, 0.0, -5.0])
def test_a_whole_answer_goes_out_with_a_prelude(seconds: float) -> None:
    outlet = FakeOutlet()
    streams = Streams(lambda invocation, kind: outlet, lambda message, **more: None)
    stream = streams.of(None, http_request(function_url("GET", "/health")), "i", ())
    assert stream.end({"statusCode": 200, "headers": {"a": "b"}, "body": "é"}, False, seconds)
    head, _, body = b"".join(outlet.written).partition(b"\0" * 8)
    assert json.loads(head) == {"statusCode": 200, "headers": {"a": "b"}}
    assert body == "é".encode()
