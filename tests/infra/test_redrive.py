"""Failed invocations are sent again, each once, and a question under the id that it had."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.redrive import event_of, redrive

CONTEXT = {"requestId": "e4b46cbf", "condition": "RetriesExhausted", "approximateInvokeCount": 3}


class Lambda:
    """What was invoked, and how."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def invoke(self, FunctionName: str, InvocationType: str, Payload: bytes) -> None:
        assert (FunctionName, InvocationType) == ("agent", "Event")
        self.events.append(json.loads(Payload))


@pytest.fixture
def sqs() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("sqs", region_name="us-east-1")


def failed(event: Any) -> str:
    """What Lambda writes to an on-failure destination ("Capturing records of Lambda asynchronous invocations")."""
    error = {"errorType": "StorageUnavailableError", "errorMessage": "no"}
    return json.dumps({"version": "1.0", "requestContext": CONTEXT, "requestPayload": event, "responsePayload": error})


def test_what_failed_is_invoked_again_and_leaves_the_queue(sqs: Any) -> None:
    queue = sqs.create_queue(QueueName="failures")["QueueUrl"]
    asked = [{"question": f"{number}", "session_id": "s", "request_id": f"{number}"} for number in range(12)]
    for event in asked:
        sqs.send_message(QueueUrl=queue, MessageBody=failed(event))
    sqs.send_message(QueueUrl=queue, MessageBody="no event")
    function = Lambda()
    assert redrive(sqs, function, queue, "agent") == (12, 1)
    assert sorted(function.events, key=lambda event: int(event["question"])) == asked
    left = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    assert int(left["ApproximateNumberOfMessages"]) + int(left["ApproximateNumberOfMessagesNotVisible"]) == 1


def test_a_question_without_an_id_keeps_that_of_its_first_invocation() -> None:
    assert event_of(failed({"question": "hi"})) == {"question": "hi", "request_id": "e4b46cbf"}
    assert event_of(failed({"session_id": "s", "approvals": {}})) == {"session_id": "s", "approvals": {}}


def test_an_event_by_itself_is_taken_too_and_anything_else_is_not() -> None:
    assert event_of('{"question": "hi"}') == {"question": "hi"}
    assert [event_of(text) for text in ("no", "[1]", "5", failed("hi"))] == [None] * 4
