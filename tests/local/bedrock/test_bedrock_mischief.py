"""Bad models and bad networks: what the stand-in plays, and what boto3 makes of it."""

from __future__ import annotations

import http.client
import json
import logging
import threading
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ReadTimeoutError,
)

from local.bedrock.reply import Reply, text_reply
from local.bedrock.script import ScriptedModel
from local.bedrock.server import BedrockServer
from tests.local.bedrock.stand_in_client import MODEL_ID, QUESTION, connected, converse


@pytest.mark.parametrize("operation", ["converse", "converse_stream"])
def test_a_connection_that_drops_before_the_answer_is_closed(operation: str) -> None:
    with connected(ScriptedModel([{"drop": "before"}])) as (_, client), pytest.raises(ConnectionClosedError):
        getattr(client, operation)(modelId=MODEL_ID, messages=QUESTION)


@pytest.mark.parametrize("entry", [{"drop": "middle", "text": "a" * 500}, {"garbage": True}], ids=["cut", "garbage"])
def test_what_is_no_json_reaches_boto3s_caller_without_output_or_error(entry: dict[str, Any]) -> None:
    answer = converse(ScriptedModel([entry]))
    assert answer.keys() == {"ResponseMetadata"}  # botocore passes over a body that it can't parse


def test_an_answer_that_drops_in_its_middle_is_cut_on_the_wire() -> None:
    with BedrockServer(ScriptedModel([{"drop": "middle", "text": "a" * 500}])) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=5)
        connection.request("POST", "/model/amazon.nova-pro-v1%3A0/converse", json.dumps({"messages": QUESTION}))
        with pytest.raises(http.client.IncompleteRead):
            connection.getresponse().read()
        connection.close()


def test_a_silent_server_runs_into_the_clients_time_out_and_still_closes_at_once() -> None:
    with connected(ScriptedModel([{"silent": True}]), read_timeout=0.2) as (server, client):
        with pytest.raises(ReadTimeoutError):
            client.converse(modelId=MODEL_ID, messages=QUESTION)
        assert len(server.requests) == 1
    assert not [thread for thread in threading.enumerate() if "process_request_thread" in thread.name]


def test_a_slow_model_takes_its_time_and_tells_it() -> None:
    assert converse(ScriptedModel([{"text": "at last", "latency_seconds": 0.05}]))["metrics"]["latencyMs"] >= 50


@pytest.mark.parametrize(
    "content",
    [
        [],
        [{"text": "\n"}],
        [{"text": ""}],
        [{"hologram": {"depth": 3}}, {"text": "ok"}],
        [{"toolUse": {"toolUseId": "t1", "name": "no such name!", "input": '{"x": '}}] * 2,
        [{"toolUse": {"toolUseId": "t1", "name": "sine", "input": [1]}}],
        [{"toolUse": {}}],
    ],
    ids=range(7),
)
def test_a_bad_model_may_say_anything(content: list[Any]) -> None:
    reply = Reply(content, "never_heard_of")
    with connected(lambda model_id, request: reply) as (_, client):
        assert client.converse(modelId=MODEL_ID, messages=QUESTION)["stopReason"] == "never_heard_of"
        events = list(client.converse_stream(modelId=MODEL_ID, messages=QUESTION)["stream"])
        assert events[-2]["messageStop"]["stopReason"] == "never_heard_of"


def test_a_model_that_fails_is_an_internal_error_that_tells_why(caplog: pytest.LogCaptureFixture) -> None:
    def model(model_id: str, request: dict[str, Any]) -> Reply:
        raise KeyError("oops")

    with (
        caplog.at_level(logging.ERROR),
        pytest.raises(ClientError, match=r"InternalServerException.*KeyError\('oops'\)"),
    ):
        converse(model)
    assert "the model behind the stand-in failed" in caplog.text


def test_a_client_that_goes_away_leaves_no_trace(capfd: pytest.CaptureFixture[str]) -> None:
    gone, answered = threading.Event(), threading.Event()

    def model(model_id: str, request: dict[str, Any]) -> Reply:
        gone.wait(5)
        answered.set()
        return text_reply("x" * 1_000_000)

    with BedrockServer(model) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=5)
        connection.request("POST", "/model/amazon.nova-pro-v1%3A0/converse", json.dumps({"messages": QUESTION}))
        connection.close()
        gone.set()
        assert answered.wait(5)
    assert capfd.readouterr().err == ""
