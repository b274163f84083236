"""Before a deployment: who it is and where it goes, and one sentence for whatever is missing."""

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError
from moto import mock_aws

from infra.account import (
    AccountError,
    caller,
    check_bootstrap,
    make_registry,
    model_warnings,
    session_of,
)
from infra.cdk import main
from infra.command_line import chosen, profile_of
from infra.context import from_context
from infra.regions import TEST_EVENT_REGISTRY


@pytest.fixture
def cloud() -> Iterator[boto3.Session]:
    with mock_aws():
        yield session_of(environment={"AWS_REGION": "eu-west-1"})


class Fake:
    """A session whose clients answer one operation with a value, or raise it."""

    region_name = "eu-west-1"

    def __init__(self, operation: str, *outcomes: Any) -> None:
        self.calls: list[dict[str, Any]] = []
        self._operation, self._outcomes = operation, list(outcomes)

    def client(self, _service: str, config: Any = None) -> Any:
        return self

    def __getattr__(self, name: str) -> Callable[..., Any]:
        assert name == self._operation

        def call(**parameters: Any) -> Any:
            self.calls.append(parameters)
            outcome = self._outcomes.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        return call


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "Call")


def test_whoever_deploys_is_told_with_the_account(cloud: boto3.Session) -> None:
    account, arn = caller(cloud)
    assert account == "123456789012"
    assert arn.startswith("arn:aws:")


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_the_region_is_read_as_the_cdk_reads_it(variable: str) -> None:
    assert session_of(environment={variable: "sa-east-1"}).region_name == "sa-east-1"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NoCredentialsError(), "No AWS credentials are found: `aws configure` or `aws sso login`"),
        (refused("ExpiredToken"), "doesn't take the credentials \\(ExpiredToken\\): renew them"),
        (refused("InvalidClientTokenId"), "doesn't take the credentials"),
        (EndpointConnectionError(endpoint_url="https://sts.example"), "can't be asked who you are"),
    ],
)
def test_credentials_that_do_not_work_are_told_in_a_sentence(error: Exception, words: str) -> None:
    with pytest.raises(AccountError, match=words) as caught:
        caller(Fake("get_caller_identity", error))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_an_account_that_was_never_set_up_for_the_cdk_is_told(cloud: boto3.Session) -> None:
    with pytest.raises(AccountError, match=r"infra\.cdk bootstrap"):
        check_bootstrap(cloud, {})
    cloud.client("ssm").put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String")
    check_bootstrap(cloud, {})
    with pytest.raises(AccountError, match=r"infra\.cdk bootstrap"):
        check_bootstrap(cloud, {"@aws-cdk/core:bootstrapQualifier": "mine"})


def test_what_may_not_be_asked_stops_nothing() -> None:
    check_bootstrap(Fake("get_parameter", refused("AccessDeniedException")), {})  # type: ignore[arg-type]
    denied = Fake("get_foundation_model_availability", refused("AccessDeniedException"))
    assert model_warnings(denied, from_context({})) == []  # type: ignore[arg-type]


def test_a_model_that_the_account_cannot_call_yet_is_warned_of() -> None:
    def answer(agreement: str) -> dict[str, Any]:
        return {"agreementAvailability": {"status": agreement}, "regionAvailability": "AVAILABLE"}

    config = from_context({"model_id": "global.amazon.nova-lite-v1:0", "fallback_model_ids": "amazon.nova-micro-v1:0"})
    fake = Fake("get_foundation_model_availability", answer("NOT_AVAILABLE"), answer("AVAILABLE"))
    [sentence] = model_warnings(fake, config)  # type: ignore[arg-type]
    assert "global.amazon.nova-lite-v1:0: no agreement for this account" in sentence
    assert [call["modelId"] for call in fake.calls] == ["amazon.nova-lite-v1:0", "amazon.nova-micro-v1:0"]


def test_the_registry_of_test_events_is_made_once_outside_any_stack() -> None:
    class Schemas:
        class exceptions:
            NotFoundException = KeyError

        made: list[str] = []  # noqa: RUF012

        def client(self, _service: str, config: Any = None) -> Any:
            return self

        def describe_registry(self, RegistryName: str) -> None:
            if RegistryName not in self.made:
                raise KeyError

        def create_registry(self, RegistryName: str) -> None:
            self.made.append(RegistryName)

    schemas: Any = Schemas()
    assert [make_registry(schemas), make_registry(schemas)] == [True, False]
    assert schemas.made == [TEST_EVENT_REGISTRY]


def test_options_are_read_in_every_form_that_the_cdk_takes() -> None:
    line = ["deploy", "-c", "name=mine", "--context", "max_steps=3", "--context=auth=none", "--profile", "work"]
    assert chosen(line) == {"name": "mine", "max_steps": "3", "auth": "none"}
    assert profile_of(line) == profile_of(["diff", "--profile=work"]) == "work"
    assert profile_of(["diff", "-c", "name=mine"]) is None


@pytest.mark.parametrize("command", ["bootstrap", "deploy", "diff", "destroy"])
def test_nothing_is_begun_without_a_region(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    assert main([command]) == 1
    assert capsys.readouterr().err == "No AWS region is set: export AWS_REGION, or choose a profile that has one.\n"


@pytest.mark.parametrize("command", ["deploy", "synth"])
def test_wrong_choices_are_told_before_aws_is_asked_and_node_is_started(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("JSII_NODE", "/nowhere")
    assert main([command, "-c", "max_step=3", "-c", "auth=jwt"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.split(" is ")[0] for line in told] == ["cdk.json or -c: max_step", "cdk.json or -c: auth"]
