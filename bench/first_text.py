"""How long a caller waits for the first text of a streamed answer that takes a second: `python -m bench.first_text TURNS`.

Prints one JSON line: milliseconds of wall time to the first text, and to the end; the model's own first piece comes after 50 ms.
"""

import importlib
import json
import os
import statistics
import sys
import time
from typing import Any

from local.runtime_api import Invocation, RuntimeApi

FIRST_PIECE_SECONDS = PAUSE_SECONDS = 0.05
PIECES = 20


class _Context:
    def __init__(self, aws_request_id: str) -> None:
        self.aws_request_id = aws_request_id

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


def main(turns: int) -> None:
    """Streams turns of new sessions to a Runtime API in this process, after one that warms up."""
    runtime = RuntimeApi("arn:aws:lambda:us-east-1:123456789012:function:bench")
    os.environ |= {"STREAMING": "true", "AWS_LAMBDA_RUNTIME_API": runtime.address}
    handler: Any = importlib.import_module("handler").lambda_handler

    def turn(number: int) -> tuple[float, float]:
        times: list[float] = []

        def took(chunk: bytes) -> None:
            if b"event: text" in chunk:
                times.append(time.perf_counter())

        invocation = Invocation(b"", 0, took)
        runtime.expect(invocation)
        began = time.perf_counter()
        event = {"question": "hi", "session_id": f"stream-{os.getpid()}-{number}", "stream": True}
        handler(event, _Context(invocation.request_id))
        assert invocation.outcome.result(10)[1]
        return times[0] - began, time.perf_counter() - began

    turn(0)
    firsts, ends = zip(*(turn(number) for number in range(1, turns + 1)), strict=True)
    figures = {"first text": statistics.median(firsts), "end": statistics.median(ends)}
    sys.stderr.write(json.dumps({name: seconds * 1000 for name, seconds in figures.items()}) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
