"""Streams in a crowd, and one of a million characters: none mixed up, none lost, and memory stays as it is."""

import gc
import resource
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest

from agent.deadline import Deadline
from agent.ports import ModelReply, ModelRequest, TextListener
from tests.agent.edge.gateway_events import events_of, function_url
from tests.agent.edge.stage import stage
from tests.fakes import NOVA, reply
from tests.local.test_serve_streaming import echo, post, serving

pytestmark = pytest.mark.slow
ACCEPTS = {"accept": "text/event-stream"}


def test_two_hundred_streams_at_once_are_whole_and_memory_stays_flat() -> None:
    def ask(number: int) -> bool:
        _, _, body = post(url, f"number {number}", session_id=f"s{number}")
        found = events_of(body)
        said = f"You said: number {number} - and that is all."
        shown = "".join(data["text"] for name, data in found if name == "text")
        return (found[0][1]["session_id"], found[-1][0], found[-1][1]["answer"], shown) == (
            f"s{number}",
            "answer",
            said,
            said,
        )

    used: list[int] = []
    with serving(echo(pause=0.02)) as url, ThreadPoolExecutor(200) as pool:
        for round_number in range(4):
            assert all(pool.map(ask, range(round_number * 200, round_number * 200 + 200)))
            gc.collect()
            used.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # KB on Linux
    # what 600 more turns leave behind are their items in the table and the requests that the stand-in keeps
    assert used[-1] - used[0] < 60_000


class Speaker:
    """Writes a million characters, to who listens in pieces of twenty."""

    model_id = NOVA

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        piece = "nineteen characters "
        for _ in range(50_000 if listener else 0):
            assert listener
            listener.text(piece)
        return reply((piece * 50_000).strip())


def test_a_million_characters_stream_in_the_memory_of_the_answer_that_is_stored() -> None:
    def peak(headers: dict[str, str]) -> tuple[int, int]:
        """The most memory in use, in bytes, and how many bytes of text arrived."""
        arrived = 0

        def read(chunk: bytes) -> None:
            nonlocal arrived
            arrived += len(chunk)

        with stage(models=[Speaker()]) as scene:
            gc.collect()
            tracemalloc.start()
            sent = scene.send(function_url(body={"question": "hi"}, headers=headers), on_chunk=read)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert sent.outcome
            assert sent.outcome[1]
        return most, arrived

    whole, _ = peak({})
    streamed, arrived = peak(ACCEPTS)
    # the reader of this test keeps what it read, several times; a queue without bounds, or one that quadrupled, would show
    assert arrived > 1_000_000
    assert streamed - whole < 8 * arrived
