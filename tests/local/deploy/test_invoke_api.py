"""Lambda's Invoke, as an SDK calls it."""

import json
import queue
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from local.deploy.invoke_api import InvokeApi

EVENTS: "queue.Queue[Any]" = queue.Queue()


def echo(event: Any) -> tuple[Any, bool]:
    EVENTS.put(event)
    return {"got": event, "語": "字"}, event != "fail"


@pytest.fixture
def client() -> Iterator[Any]:
    with InvokeApi(echo, "agent") as api:
        made = boto3.client("lambda", endpoint_url=api.url)
        yield made
        made.close()


@pytest.mark.parametrize("name", ["agent", "arn:aws:lambda:us-east-1:123456789012:function:agent"])
def test_the_function_is_invoked_by_name_or_arn(client: Any, name: str) -> None:
    response = client.invoke(FunctionName=name, Payload=b'{"a": 1}')
    assert json.load(response["Payload"]) == {"got": {"a": 1}, "語": "字"}
    assert (response["StatusCode"], response["ExecutedVersion"], response.get("FunctionError")) == (
        200,
        "$LATEST",
        None,
    )


def test_what_it_raises_is_a_function_error(client: Any) -> None:
    assert client.invoke(FunctionName="agent", Payload=b'"fail"')["FunctionError"] == "Unhandled"


def test_an_event_is_taken_and_runs_on(client: Any) -> None:
    assert client.invoke(FunctionName="agent", InvocationType="Event", Payload=b'"later"')["StatusCode"] == 202
    while EVENTS.get(timeout=10) != "later":
        pass


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"FunctionName": "other"}, "ResourceNotFoundException"),
        ({"FunctionName": "agent", "Payload": b"{"}, "InvalidRequestContentException"),
    ],
)
def test_what_lambda_would_refuse_is_refused(client: Any, given: dict[str, Any], code: str) -> None:
    with pytest.raises(ClientError) as refused:
        client.invoke(**given)
    assert refused.value.response["Error"]["Code"] == code
