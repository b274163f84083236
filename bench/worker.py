"""One measured process: `python -m bench.worker MODULE TURNS`. Prints one JSON line of CPU milliseconds (all threads)."""

import importlib
import json
import os
import statistics
import sys
import time
from typing import Any


class _Context:
    aws_request_id = ""

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


def main(module: str, turns: int) -> None:
    """Imports the handler, then runs a first turn, turns of new sessions, and turns of one long session of 2 KB + 2 KB."""
    began = time.process_time()
    handler: Any = importlib.import_module(module).lambda_handler
    imported = time.process_time() - began
    count = 0

    def turn(session: str, padding: str = "") -> float:
        nonlocal count
        count += 1
        context = _Context()
        context.aws_request_id = f"{os.getpid()}-{count}"
        before = time.process_time()
        answer = handler({"question": f"1990-05-10? {padding}", "session_id": session}, context)
        spent = time.process_time() - before
        assert "done" in answer["answer"]
        return spent

    first = turn(f"{module}-first")
    warm = [turn(f"{module}-{os.getpid()}-{number}") for number in range(turns)]
    for _ in range(11):
        turn(f"{module}-long", "x" * 2000)
    long = [turn(f"{module}-long", "x" * 2000) for _ in range(turns)]
    figures = {"init": imported, "init + first turn": imported + first, "warm turn": statistics.median(warm)}
    figures["warm turn at ten pairs"] = statistics.median(long)
    sys.stderr.write(json.dumps({name: seconds * 1000 for name, seconds in figures.items()}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
