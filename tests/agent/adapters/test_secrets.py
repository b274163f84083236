"""Secrets, against moto's Secrets Manager."""

import itertools
import json
import os
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from agent.adapters.secrets import Secret, SecretsManager
from agent.aws.client import AWS
from agent.aws.errors import ServiceError, TimedOutError
from agent.deadline import Deadline
from agent.errors import AgentError, MisconfiguredError, ModelUnavailableError
from local.aws_server import AWSServer
from tests.agent.aws.servers import answering, ok, serving
from tests.agent.edge.whole_function import least_environment

_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client that makes secrets, and the one that reads them, as `reader`."""
    with mock_aws(), AWSServer() as server:
        client: Any = boto3.client("secretsmanager")
        client.reader = AWS(least_environment(AWS_ENDPOINT_URL=server.url)).client("secretsmanager")
        yield client
        client.close()


def read_key(client: Any, name: str) -> str:
    return Secret(SecretsManager(client), name)(Deadline.after(5))


@pytest.fixture
def name() -> str:
    """A name that no other test has used."""
    return f"agent/openai-{next(_NUMBERS)}"


@pytest.mark.parametrize(
    "text", ["sk-key", "sk-key\n", '{"OPENAI_API_KEY": "sk-key"}', '{"OPENAI_API_KEY": " sk-key "}']
)
def test_a_secret_is_its_text_or_the_one_text_in_its_json(client: Any, name: str, text: str) -> None:
    client.create_secret(Name=name, SecretString=text)
    assert read_key(client.reader, name) == "sk-key"


@pytest.mark.parametrize("text", ["12345", '"quoted"', "[1]", "null"])
def test_a_key_that_happens_to_be_json_stays_as_it_is(client: Any, name: str, text: str) -> None:
    client.create_secret(Name=name, SecretString=text)
    assert read_key(client.reader, name) == text


def test_a_secret_is_read_anew_after_five_minutes_and_not_before(client: Any, name: str) -> None:
    client.create_secret(Name=name, SecretString="old")
    clock = [1000.0]
    secret = Secret(SecretsManager(client.reader, lambda: clock[0]), name)
    assert secret(Deadline.after(5)) == "old"
    client.put_secret_value(SecretId=name, SecretString="new")
    clock[0] += 299
    assert secret(Deadline.after(5)) == "old"
    clock[0] += 1
    assert secret(Deadline.after(5)) == "new"
    client.put_secret_value(SecretId=name, SecretString="newer")
    clock[0] -= 900  # the clock was set back: nothing tells how old the text is
    assert secret(Deadline.after(5)) == "newer"


def test_a_secret_that_could_not_be_read_is_asked_for_again(client: Any, name: str) -> None:
    secret = Secret(SecretsManager(client.reader), name)
    with pytest.raises(MisconfiguredError):
        secret(Deadline.after(5))
    client.create_secret(Name=name, SecretString="sk-key")
    assert secret(Deadline.after(5)) == "sk-key"


@pytest.mark.parametrize("text", ["  ", '{"a": "sk-key", "b": "sk-other"}', '{"a": 5}', "{}", '{"a": " "}'])
def test_a_secret_of_another_shape_is_told_without_its_text(client: Any, name: str, text: str) -> None:
    client.create_secret(Name=name, SecretString=text)
    with pytest.raises(MisconfiguredError) as failed:
        read_key(client.reader, name)
    assert name in failed.value.detail
    assert "sk-" not in failed.value.detail


def test_a_secret_of_bytes_is_none(client: Any, name: str) -> None:
    client.create_secret(Name=name, SecretBinary=b"sk-key")
    with pytest.raises(MisconfiguredError):
        read_key(client.reader, name)


def test_a_secret_that_is_not_there_is_misconfigured(client: Any, name: str) -> None:
    with pytest.raises(MisconfiguredError) as failed:
        read_key(client.reader, name)
    assert name in failed.value.detail


class FailingClient:
    """A client whose service fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def call(self, operation: str, parameters: dict[str, Any], deadline: Deadline) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (ServiceError(400, "AccessDeniedException", "no"), MisconfiguredError),
        (ServiceError(500, "InternalServiceError", "sorry"), ModelUnavailableError),
        (TimedOutError("too late"), ModelUnavailableError),
    ],
)
def test_a_service_that_fails_or_refuses_is_told(failure: Exception, raised: type[AgentError]) -> None:
    with pytest.raises(raised):
        read_key(FailingClient(failure), "agent/openai")


def read(answer: bytes) -> str:
    """What the store reads of a service that answers this."""
    with serving(answering(answer)) as server:
        environment = {**os.environ, "AWS_ENDPOINT_URL_SECRETS_MANAGER": server.url}
        text = SecretsManager(AWS(environment).client("secretsmanager")).read("orders/key", Deadline.after(5))
        head, _, body = server.requests[0].partition(b"\r\n\r\n")
        assert b"X-Amz-Target: secretsmanager.GetSecretValue" in head
        assert json.loads(body) == {"SecretId": "orders/key"}
        return text


def test_a_tools_secret_is_its_text_as_it_stands() -> None:
    text = ' {"user": "a", "password": "b"}\n'
    assert read(ok(json.dumps({"Name": "orders/key", "SecretString": text}).encode())) == text


def test_a_tools_secret_that_is_refused_or_no_text_says_why() -> None:
    body = b'{"__type":"AccessDeniedException","Message":"you may not"}'
    refused = b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    with pytest.raises(MisconfiguredError) as failed:
        read(refused)
    assert failed.value.detail.startswith(
        "the secret orders/key can't be read: AccessDeniedException (400): you may not"
    )
    with pytest.raises(MisconfiguredError, match=r".*") as misconfigured:
        read(ok(b'{"SecretBinary": "aGk="}'))
    assert misconfigured.value.detail == "the secret orders/key holds no text"
