"""What a TLS connection costs: `python -m bench.connection CLIENT CLOSING_URL KEEPING_URL` prints CPU milliseconds as JSON.

A first call loads the certificates that are trusted and makes a connection; the next makes another one; the last keeps one.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

_CALLS = 15


def _by_hand(url: str) -> Callable[[], Any]:
    import boto3

    client = boto3.client("dynamodb", endpoint_url=url)
    return lambda: client.get_item(TableName="t", Key={"id": {"S": "1"}})


def _by_this_function(url: str) -> Callable[[], Any]:
    from agent.aws.client import AWS
    from agent.deadline import Deadline

    client = AWS({**os.environ, "AWS_ENDPOINT_URL_DYNAMODB": url}).client("dynamodb")
    return lambda: client.call("GetItem", {"TableName": "t", "Key": {"id": {"S": "1"}}}, Deadline.after(60))


CLIENTS = {"bench.plain": _by_hand, "handler": _by_this_function}


def main(client: str, closing: str, keeping: str) -> None:
    """Calls one server that closes each connection, and one that keeps them."""

    def spent(call: Callable[[], Any]) -> float:
        before = time.process_time()
        call()
        return (time.process_time() - before) * 1000

    new, kept = (CLIENTS[client](url) for url in (closing, keeping))
    figures = {"first call over TLS": spent(new)}
    figures["call over a new connection"] = statistics.median(spent(new) for _ in range(_CALLS))
    kept()
    figures["call over a kept connection"] = statistics.median(spent(kept) for _ in range(_CALLS))
    sys.stderr.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
