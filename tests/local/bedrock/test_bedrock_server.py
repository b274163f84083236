"""The stand-in over the wire, as a real boto3 client meets it."""

from __future__ import annotations

import http.client
import json
import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.bedrock.reply import Reply, text_reply
from local.bedrock.script import ScriptedModel
from local.bedrock.server import BedrockServer
from local.bedrock.service_model import error_statuses
from tests.local.bedrock.stand_in_client import MODEL_ID, QUESTION, RICH, RICH_CONTENT, TOOLS, connected, converse


def test_converse_answers_what_the_model_said() -> None:
    answer = converse(lambda model_id, request: RICH, toolConfig=TOOLS)
    assert answer["output"]["message"] == {"role": "assistant", "content": RICH_CONTENT}
    assert answer["stopReason"] == "tool_use"
    assert answer["usage"] == {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12, "cacheReadInputTokens": 3}
    assert answer["metrics"]["latencyMs"] >= 0
    assert answer["ResponseMetadata"]["RequestId"]


def test_usage_is_estimated_at_four_characters_a_token() -> None:
    short = converse(lambda model_id, request: text_reply("a" * 400))["usage"]
    assert 100 <= short["outputTokens"] <= 110
    assert short["totalTokens"] == short["inputTokens"] + short["outputTokens"]
    longer = converse(lambda model_id, request: text_reply("a"), [{"role": "user", "content": [{"text": "b" * 4000}]}])
    assert 1000 <= longer["usage"]["inputTokens"] <= 1020


@pytest.mark.parametrize(
    "model_id",
    [MODEL_ID, f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/{MODEL_ID}", "amazon.nova-pro-v1:0"],
)
def test_the_model_sees_the_model_id_and_the_body_as_sent(model_id: str) -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    def model(model_id: str, request: dict[str, Any]) -> Reply:
        seen.append((model_id, json.loads(json.dumps(request))))
        request["messages"].clear()
        return text_reply("ok")

    image = {"image": {"format": "png", "source": {"bytes": b"x"}}}
    messages = [{"role": "user", "content": [{"text": "東京"}, image]}]
    with connected(model) as (server, client):
        client.converse(modelId=model_id, messages=messages)
        record = server.requests[0]
    wire_image = {"image": {"format": "png", "source": {"bytes": "eA=="}}}
    body = {"messages": [{"role": "user", "content": [{"text": "東京"}, wire_image]}]}
    assert seen == [(model_id, body)]
    assert (record.model_id, record.body, record.violations, record.stream) == (model_id, body, [], False)


@pytest.mark.parametrize("operation", ["converse", "converse_stream"])
def test_a_request_that_breaks_a_rule_is_refused_by_its_name_and_recorded(operation: str) -> None:
    with connected(ScriptedModel([])) as (server, client):
        with pytest.raises(ClientError) as refused:
            getattr(client, operation)(modelId=MODEL_ID, messages=[{"role": "user", "content": []}])
        record = server.requests[0]
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    assert "C-EMPTY-CONTENT: messages[0].content is empty" in refused.value.response["Error"]["Message"]
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert [violation.rule for violation in record.violations] == ["C-EMPTY-CONTENT"]
    assert record.stream == (operation == "converse_stream")


def test_infinity_which_boto3_passes_on_is_refused() -> None:
    messages = [
        *QUESTION,
        {
            "role": "assistant",
            "content": [{"toolUse": {"toolUseId": "t1", "name": "sine", "input": {"x": float("inf")}}}],
        },
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "1"}]}}]},
    ]
    with pytest.raises(ClientError, match="T-JSON: the body is not strict JSON"):
        converse(ScriptedModel([]), messages, toolConfig=TOOLS)


def test_a_warning_is_recorded_and_answered() -> None:
    messages = [
        *QUESTION,
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "gone", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "1"}]}}]},
    ]
    with connected(ScriptedModel([{"text": "ok"}])) as (server, client):
        client.converse(modelId=MODEL_ID, messages=messages, toolConfig=TOOLS)
        assert [(found.rule, found.level) for found in server.requests[0].violations] == [("U-HISTORY-TOOL", "warn")]


def test_the_server_knows_the_reasoning_that_it_issued() -> None:
    def say(client: Any, *messages: Any) -> dict[str, Any]:
        answer = client.converse(modelId=MODEL_ID, messages=[*QUESTION, *messages], toolConfig=TOOLS)
        message: dict[str, Any] = answer["output"]["message"]
        return message

    with connected(ScriptedModel([RICH, text_reply("done")])) as (_, client):
        thought = say(client)
        results = [{"toolResult": {"toolUseId": i, "content": [{"text": "1"}]}} for i in ("t1", "t2")]
        forgetful = {"role": "assistant", "content": thought["content"][2:]}
        with pytest.raises(ClientError, match="R-KEPT"):
            say(client, forgetful, {"role": "user", "content": results})
        assert say(client, thought, {"role": "user", "content": results})["content"] == [{"text": "done"}]


@pytest.mark.parametrize("operation", ["converse", "converse_stream"])
def test_an_error_of_the_service_is_the_clients_exception(operation: str) -> None:
    errors = error_statuses()
    script = ScriptedModel([{"error": name, "message": "so it is"} for name in errors])
    with connected(script) as (_, client):
        for name, status in errors.items():
            with pytest.raises(getattr(client.exceptions, name)) as raised:
                getattr(client, operation)(modelId=MODEL_ID, messages=QUESTION)
            assert raised.value.response["Error"] == {"Code": name, "Message": "so it is"}
            assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == status


def test_one_connection_serves_many_requests_and_several_at_once() -> None:
    meeting = threading.Barrier(4, timeout=5)

    def model(model_id: str, request: dict[str, Any]) -> Reply:
        meeting.wait()  # passed only when four requests are in the model together
        return text_reply("met")

    with connected(model) as (_, client):
        answers: list[str] = []

        def ask() -> None:
            for _ in range(3):
                answer = client.converse(modelId=MODEL_ID, messages=QUESTION)
                answers.append(answer["output"]["message"]["content"][0]["text"])

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == ["met"] * 12


def test_a_connection_is_kept_alive() -> None:
    with BedrockServer(lambda model_id, request: text_reply("ok")) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=5)
        body = json.dumps({"messages": QUESTION})
        for _ in range(2):
            connection.request("POST", "/model/amazon.nova-pro-v1%3A0/converse", body)
            response = connection.getresponse()
            assert (response.status, json.loads(response.read())["stopReason"]) == (200, "end_turn")
            assert connection.sock is not None
        connection.close()
        assert [record.model_id for record in server.requests] == ["amazon.nova-pro-v1:0"] * 2


@pytest.mark.parametrize(("method", "path"), [("POST", "/model/x/invoke"), ("POST", "/"), ("GET", "/model/x/converse")])
def test_another_route_is_not_found(method: str, path: str) -> None:
    with BedrockServer(lambda model_id, request: text_reply("ok")) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=5)
        connection.request(method, path, "{}")
        response = connection.getresponse()
        assert (response.status, response.headers["x-amzn-ErrorType"]) == (404, "UnknownOperationException")
        connection.close()
        assert server.requests == []


def test_a_port_may_be_chosen_and_is_free_again_afterwards() -> None:
    with BedrockServer(lambda model_id, request: text_reply("ok")) as first:
        port = int(first.url.rsplit(":", 1)[1])
        with pytest.raises(OSError, match="in use"):
            BedrockServer(lambda model_id, request: text_reply("ok"), port=port)
    with BedrockServer(lambda model_id, request: text_reply("ok"), port=port) as second:
        assert second.url == first.url
