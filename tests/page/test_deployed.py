"""The page of a deployed function: what Lambda is asked, and what becomes of its answers. Lambda is a fake."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from infra.config import Config
from local.page.backends import Deployed

_VARIABLES = {"TABLE_NAME": "sessions", "MODEL_ID": "m", "HISTORY_PAIRS": "10", "OTHER": "x"}
_EVENTS = "text/event-stream"


class FakeLambda:
    """Answers with what a test says; `asked` holds operation and event."""

    def __init__(self, variables: dict[str, str], answer: dict[str, Any]) -> None:
        self.asked: list[tuple[str, Any]] = []
        self._variables, self._answer = variables, answer

    def get_function_configuration(self, FunctionName: str) -> dict[str, Any]:
        return {"Environment": {"Variables": self._variables}}

    def invoke(self, FunctionName: str, Payload: str) -> dict[str, Any]:
        self.asked.append(("invoke", json.loads(Payload)))
        return self._answer

    def invoke_with_response_stream(self, FunctionName: str, Payload: str) -> dict[str, Any]:
        self.asked.append(("stream", json.loads(Payload)))
        return self._answer


def answer(client: FakeLambda) -> tuple[tuple[Any, bool], list[bytes]]:
    chunks: list[bytes] = []
    deployed = Deployed(client, "agent", {"AWS_REGION": "us-east-1"}, Config())
    return deployed.invoke({"question": "q", "stream": True}, chunks.append), chunks


def streamed(content: str, *parts: dict[str, Any]) -> dict[str, Any]:
    def stream() -> Iterator[dict[str, Any]]:
        yield from parts

    return {"ResponseStreamContentType": content, "EventStream": stream()}


def piece(data: bytes) -> dict[str, Any]:
    return {"PayloadChunk": {"Payload": data}}


def test_a_function_that_streams_is_asked_for_its_events_and_each_is_handed_on() -> None:
    parts = [piece(b"event: start\n"), piece(b"data: {}\n\n")]
    client = FakeLambda({**_VARIABLES, "STREAMING": "True"}, streamed(_EVENTS, *parts))
    (_, succeeded), chunks = answer(client)
    assert succeeded
    assert chunks == [b"event: start\n", b"data: {}\n\n"]
    assert client.asked == [("stream", {"question": "q", "stream": True})]


def test_what_it_refuses_before_it_streams_is_told_whole() -> None:
    refused = json.dumps({"error": {"code": "invalid_request", "message": "no"}}).encode()
    client = FakeLambda({**_VARIABLES, "STREAMING": "true"}, streamed("application/json", piece(refused)))
    (result, succeeded), chunks = answer(client)
    assert (result, succeeded, chunks) == (json.loads(refused), True, [])


def test_a_stream_that_breaks_is_a_failure() -> None:
    ended = {"InvokeComplete": {"ErrorCode": "Function.Timeout", "ErrorDetails": "too late"}}
    client = FakeLambda({**_VARIABLES, "STREAMING": "true"}, streamed(_EVENTS, piece(b"x"), ended))
    (result, succeeded), _ = answer(client)
    assert not succeeded
    assert result == {"errorType": "Function.Timeout", "errorMessage": "too late"}


@pytest.mark.parametrize("failed", [False, True])
def test_a_function_that_does_not_stream_is_asked_for_the_whole_answer(failed: bool) -> None:
    said = {"Payload": io.BytesIO(b'{"answer": "a"}'), **({"FunctionError": "Unhandled"} if failed else {})}
    client = FakeLambda(_VARIABLES, said)
    assert answer(client) == (({"answer": "a"}, not failed), [])
    assert client.asked == [("invoke", {"question": "q"})]


def test_only_settings_are_shown_and_neither_a_list_of_sessions_nor_requests() -> None:
    told = Deployed(FakeLambda({**_VARIABLES, "ORDERS_KEY": "secret"}, {}), "agent", {}, Config()).about()
    assert told["settings"] == {"MODEL_ID": "m", "TABLE_NAME": "sessions", "HISTORY_PAIRS": "10"}
    assert [told["can_list"], told["sees_requests"]] == [False, False]


def test_a_function_that_is_none_of_ours_is_noticed() -> None:
    with pytest.raises(KeyError, match="TABLE_NAME"):
        Deployed(FakeLambda({"X": "y"}, {}), "other", {}, Config())
