"""An answer while it is written, with Python's standard library alone: python docs/examples/streamed.py URL QUESTION"""

import json
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any


def streamed(url: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> Iterator[tuple[str, Any]]:
    """The events of a streamed answer, each with its data. Raises urllib.error.HTTPError where there is none."""
    told = {"content-type": "application/json", "accept": "text/event-stream", **(headers or {})}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), told)) as response:
        if not response.headers["content-type"].startswith("text/event-stream"):
            yield "answer", json.load(response)  # an API that doesn't stream
            return
        name = ""
        for line in response:
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                yield name, json.loads(value)


if __name__ == "__main__":
    for event, data in streamed(sys.argv[1], {"question": sys.argv[2]}):
        print(data["text"] if event == "text" else f"\n[{event}]\n", end="", flush=True)
