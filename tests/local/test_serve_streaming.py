"""The function behind HTTP streams to who asks for events: as they come, to many at once, and to the end without a reader."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from local.bedrock.reply import Reply
from local.bedrock.server import BedrockServer
from local.gateway import Gateway
from local.serve import streaming_of
from local.stack import Choices, local_stack
from tests.agent.edge.gateway_events import events_of

Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def serving(model: Callable[[str, dict[str, Any]], Reply], *, streams: bool = True) -> Iterator[str]:
    """The address of the real function over a model."""
    with (
        BedrockServer(model) as server,
        local_stack(Choices(), model_server=server) as stack,
        Gateway(stack.invoke, streaming=streaming_of(stack) if streams else None) as gateway,
    ):
        yield gateway.url


def post(url: str, question: str, *, accept: str = "text/event-stream", **ids: str) -> Answer:
    """Status, headers and body."""
    headers = {"Content-Type": "application/json", "Accept": accept}
    body = json.dumps({"question": question, **ids}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{url}/chat", body, headers), timeout=60) as response:
            return response.status, dict(response.headers.items()), response.read()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, dict(refusal.headers.items()), refusal.read()


def echo(pause: float = 0.0) -> Callable[[str, dict[str, Any]], Reply]:
    """A model that says the question again, with pauses between its pieces."""

    def answer(model_id: str, request: dict[str, Any]) -> Reply:
        said = request["messages"][-1]["content"][0]["text"]
        return Reply([{"text": f"You said: {said} - and that is all."}], pause_seconds=pause)

    return answer


def test_events_come_while_the_model_speaks() -> None:
    with serving(echo(pause=0.05)) as url:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=30)
        connection.request(
            "POST",
            "/chat",
            b'{"question": "hello"}',
            {"Content-Type": "application/json", "Accept": "text/event-stream"},
        )
        response = connection.getresponse()
        assert response.getheader("content-type") == "text/event-stream"
        times, body = [], b""
        while data := response.read1():
            times.append(time.monotonic())
            body += data
        connection.close()
    found = events_of(body)
    assert (found[0][0], found[-1][0]) == ("start", "answer")
    assert "".join(d["text"] for name, d in found if name == "text") == found[-1][1]["answer"]
    assert times[-1] - times[0] > 0.1


def test_who_does_not_ask_for_events_gets_the_plain_answer_and_errors_their_status() -> None:
    with serving(echo()) as url:
        status, headers, body = post(url, "hello", accept="*/*")
        assert (status, headers["content-type"].split(";")[0]) == (200, "application/json")
        assert json.loads(body)["answer"].startswith("You said")
        status, _, body = post(url, " ")
        assert (status, json.loads(body)["error"]["code"]) == (400, "invalid_request")


def test_many_streams_at_once_run_beside_each_other_and_none_is_mixed_up() -> None:
    with serving(echo(pause=0.05)) as url, ThreadPoolExecutor(40) as pool:
        post(url, "warm")
        began = time.monotonic()
        answers = list(pool.map(lambda number: post(url, f"number {number}", session_id=f"s{number}"), range(40)))
        seconds = time.monotonic() - began
    for number, (_, _, body) in enumerate(answers):
        found = events_of(body)
        assert found[0][1]["session_id"] == f"s{number}"
        assert found[-1][1]["answer"] == f"You said: number {number} - and that is all."
        assert "".join(d["text"] for name, d in found if name == "text") == found[-1][1]["answer"]
    # one after the other they would take 40 times four pauses
    assert seconds < 7


def test_a_client_that_leaves_finds_the_whole_answer_by_its_request_id() -> None:
    with serving(echo(pause=0.05)) as url:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=30)
        body = json.dumps({"question": "hello", "session_id": "s", "request_id": "r"}).encode()
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        connection.request("POST", "/chat", body, headers)
        connection.getresponse().read1()
        connection.close()
        limit = time.monotonic() + 20
        status, content = 409, b""
        while status == 409:  # the first still runs
            status, _, content = post(url, "hello", session_id="s", request_id="r")
            assert time.monotonic() < limit
        found = events_of(content)
        assert [name for name, _ in found] == ["start", "answer"]
        assert found[-1][1]["answer"] == "You said: hello - and that is all."
        assert found[0][1] == {"session_id": "s", "request_id": "r", "turn": 1}
