"""The stack keeps the deployment's promises: table, function, grants, and what the security rules say."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint  # type: ignore[import-untyped]

from infra.bundling import PYTHON
from infra.choices import ConfigError
from infra.tool_needs import ToolNeeds
from tests.infra.synthesis import Synthesis, synthesis

Synthesise = Callable[..., Synthesis]
MODEL = "anthropic.claude-haiku-4-5-20251001-v1:0"
KEY = "arn:aws:kms:us-east-1:123456789012:key/12345678-1234-1234-1234-123456789012"
EVERYTHING: dict[str, Any] = {
    "auth": "none",
    "tracing": False,
    "kms_key": "create",
    "snapstart": True,
    "function_url": True,
    "cors_origins": "https://example.com",
    "reserved_concurrency": 5,
    "alarm_topic": "arn:aws:sns:us-east-1:123456789012:alarms",
    "guardrail_id": "abc123",
    "guardrail_version": "1",
    "model_id": "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123",
    "test_events": "existing",
    "retain_sessions": True,
}
TOKENS = {"auth": "jwt", "jwt_issuer": "https://example.com/", "jwt_audience": "agents", "kms_key": KEY}


def allowed(stack: Synthesis, service: str) -> list[dict[str, Any]]:
    def lists(statement: dict[str, Any]) -> dict[str, Any]:
        actions, resources = statement["Action"], statement["Resource"]
        return {
            **statement,
            "Action": actions if isinstance(actions, list) else [actions],
            "Resource": resources if isinstance(resources, list) else [resources],
        }

    found = [lists(statement) for statement in stack.statements()]
    return [statement for statement in found if any(action.startswith(f"{service}:") for action in statement["Action"])]


def test_sessions_expire_are_backed_up_encrypted_and_go_with_the_stack(stack: Synthesis) -> None:
    table = stack.resource("DynamoDB::Table")
    assert table["KeySchema"] == [
        {"AttributeName": "session_id", "KeyType": "HASH"},
        {"AttributeName": "turn", "KeyType": "RANGE"},
    ]
    assert table["AttributeDefinitions"] == [
        {"AttributeName": "session_id", "AttributeType": "S"},
        {"AttributeName": "turn", "AttributeType": "N"},
    ]
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    # DynamoDB encrypts every table; this says that the key is its own.
    assert table["SSESpecification"] == {"SSEEnabled": False}
    [resource] = [item for item in stack.template["Resources"].values() if item["Type"] == "AWS::DynamoDB::Table"]
    assert resource["DeletionPolicy"] == "Delete"


def test_sessions_stay_where_asked(synthesise: Synthesise) -> None:
    resources = synthesise(**EVERYTHING).template["Resources"].values()
    kept = [item["Type"] for item in resources if item.get("DeletionPolicy") == "Retain"]
    # What was written with a key is lost with it.
    assert sorted(kept) == ["AWS::DynamoDB::Table", "AWS::KMS::Key"]


def test_an_own_key_encrypts_sessions_and_the_function_may_use_it(synthesise: Synthesise) -> None:
    made, named = synthesise(**EVERYTHING), synthesise(**TOKENS)
    [key] = made.resources("KMS::Key")
    arn = {"Fn::GetAtt": [key, "Arn"]}
    for stack, expected in ((made, arn), (named, KEY)):
        assert stack.resource("DynamoDB::Table")["SSESpecification"]["KMSMasterKeyId"] == expected
        [statement] = allowed(stack, "kms")
        assert statement["Resource"] == [expected]
        assert not [action for action in statement["Action"] if "*" in action]
    assert made.resource("KMS::Key")["EnableKeyRotation"] is True


def test_there_is_one_function_sized_for_the_job(stack: Synthesis) -> None:
    function = stack.resource("Lambda::Function")
    assert function["Runtime"] == f"python{PYTHON}" == "python3.13"
    assert function["Architectures"] == ["arm64"]
    assert function["Handler"] == "handler.lambda_handler"
    assert function["MemorySize"] >= 512
    # A direct turn has time for several model calls of the length that one over HTTP has.
    assert function["Timeout"] >= 4 * int(stack.environment()["HTTP_TIMEOUT_SECONDS"])
    assert function["TracingConfig"] == {"Mode": "Active"}
    assert "ReservedConcurrentExecutions" not in function
    assert "SnapStart" not in function
    assert "Layers" not in function
    assert "FunctionName" not in function


def test_logs_are_json_kept_for_the_chosen_time_and_go_with_the_stack(stack: Synthesis) -> None:
    groups = stack.resources("Logs::LogGroup")
    assert [group["RetentionInDays"] for group in groups.values()] == [30, 30]
    logging = stack.resource("Lambda::Function")["LoggingConfig"]
    assert logging["LogFormat"] == "JSON"
    assert logging["LogGroup"]["Ref"] in groups
    assert {stack.template["Resources"][name]["DeletionPolicy"] for name in groups} == {"Delete"}


def test_what_fails_asynchronously_is_tried_again_and_then_kept(stack: Synthesis) -> None:
    [queue] = stack.resources("SQS::Queue")
    config = stack.resource("Lambda::EventInvokeConfig")
    assert config["MaximumRetryAttempts"] == 2
    assert config["MaximumEventAgeInSeconds"] == 3600
    assert config["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": [queue, "Arn"]}
    assert stack.resource("SQS::Queue")["SqsManagedSseEnabled"] is True
    assert [statement["Resource"] for statement in allowed(stack, "sqs")] == [[{"Fn::GetAtt": [queue, "Arn"]}]]


def test_snapstart_makes_a_version_and_an_alias_that_everything_calls(synthesise: Synthesise) -> None:
    stack = synthesise(**EVERYTHING)
    [version], [alias] = stack.resources("Lambda::Version"), stack.resources("Lambda::Alias")
    assert stack.resource("Lambda::Function")["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    assert stack.resource("Lambda::Alias")["FunctionVersion"] == {"Fn::GetAtt": [version, "Version"]}
    assert alias in str(stack.resource("Lambda::EventInvokeConfig")["Qualifier"])
    assert stack.resource("ApiGatewayV2::Integration")["IntegrationUri"] == {"Ref": alias}
    assert stack.resource("Lambda::Url")["Qualifier"] == stack.resource("Lambda::Alias")["Name"]
    callers = [permission["FunctionName"] for permission in stack.resources("Lambda::Permission").values()]
    assert callers == [{"Ref": alias}] * len(callers)
    assert alias in str(stack.template["Outputs"]["CallFunction"])


def test_a_function_url_asks_for_sigv4(synthesise: Synthesise, stack: Synthesis) -> None:
    assert synthesise(**EVERYTHING).resource("Lambda::Url")["AuthType"] == "AWS_IAM"
    assert not stack.resources("Lambda::Url")


def test_concurrency_is_reserved_and_tracing_off_only_where_asked(synthesise: Synthesise) -> None:
    stack = synthesise(**EVERYTHING)
    assert stack.resource("Lambda::Function")["ReservedConcurrentExecutions"] == 5
    assert "TracingConfig" not in stack.resource("Lambda::Function")
    assert not allowed(stack, "xray")


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1", "ap-northeast-1"])
def test_the_model_that_the_function_is_told_is_the_one_it_may_call(synthesise: Synthesise, region: str) -> None:
    stack = synthesise(region)
    model_id = stack.environment()["MODEL_ID"]
    profile, models = allowed(stack, "bedrock")
    arn = f"arn:aws:bedrock:{region}:123456789012:inference-profile/{model_id}"
    assert profile["Resource"] == [arn]
    assert models["Resource"] == [
        f"arn:aws:bedrock:*::foundation-model/{MODEL}",
        f"arn:aws:bedrock:::foundation-model/{MODEL}",
    ]
    assert models["Condition"] == {"StringEquals": {"bedrock:InferenceProfileArn": arn}}


def test_a_profile_of_another_geography_stops_the_synth(synthesise: Synthesise) -> None:
    with pytest.raises(ConfigError, match="profile that eu-central-1 can call"):
        synthesise("eu-central-1", model_id=f"us.{MODEL}")


def test_a_guardrail_is_told_to_the_function_and_granted(synthesise: Synthesise, stack: Synthesis) -> None:
    guarded = synthesise(**EVERYTHING)
    assert guarded.environment()["GUARDRAIL_ID"] == "abc123"
    assert guarded.environment()["GUARDRAIL_VERSION"] == "1"
    arns = ["arn:aws:bedrock:us-east-1:123456789012:guardrail/abc123"]
    assert [item["Resource"] for item in allowed(guarded, "bedrock") if "bedrock:ApplyGuardrail" in item["Action"]] == [
        arns
    ]
    assert not [item for item in allowed(stack, "bedrock") if "bedrock:ApplyGuardrail" in item["Action"]]


@pytest.mark.parametrize("choices", [{}, EVERYTHING, TOKENS])
def test_nothing_is_allowed_on_everything_but_writing_traces(synthesise: Synthesise, choices: dict[str, Any]) -> None:
    for statement in synthesise(**choices).statements():
        resources = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
        if "*" in resources:
            assert statement["Action"] == ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
        wildcards = [resource for resource in resources if "*" in str(resource) and resource != "*"]
        assert not wildcards or "Condition" in statement
        assert "*" not in str(statement["Action"])


def test_dynamodb_is_allowed_what_the_function_does_on_the_one_table(stack: Synthesis) -> None:
    [table] = stack.resources("DynamoDB::Table")
    [statement] = allowed(stack, "dynamodb")
    assert statement["Resource"] == [{"Fn::GetAtt": [table, "Arn"]}]
    called = {"Query", "GetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"}
    assert set(statement["Action"]) == {f"dynamodb:{action}" for action in called}


def test_a_tool_gets_its_own_needs_only_where_it_is_chosen(tmp_path: Path, synthesise: Synthesise) -> None:
    grant = {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::my-invoices/2026"]}
    needs = {
        "signature": ToolNeeds(
            (grant,), ("s3",), {"INVOICE_BUCKET": "my-invoices"}, {"INVOICE_KEY_SECRET": "invoices/key"}
        )
    }
    chosen = synthesis(tmp_path / "chosen", "us-east-1", {"tools": "fortune,signature"}, needs)
    assert chosen.environment()["INVOICE_BUCKET"] == "my-invoices"
    assert chosen.environment()["INVOICE_KEY_SECRET"] == "invoices/key"
    assert [statement["Resource"] for statement in allowed(chosen, "s3")] == [["arn:aws:s3:::my-invoices/2026"]]
    [secret] = allowed(chosen, "secretsmanager")
    assert str(secret["Resource"][0]).endswith("secret:invoices/key-??????")
    other = synthesis(tmp_path / "other", "us-east-1", {"tools": "fortune"}, needs)
    assert not allowed(other, "s3")
    assert "INVOICE_BUCKET" not in other.environment()


def test_stacks_of_different_names_live_side_by_side(synthesise: Synthesise) -> None:
    def names(stack: Synthesis) -> set[str]:
        # An inline policy's name belongs to its role; the registry is shared on purpose.
        resources = [item for item in stack.template["Resources"].values() if "Registry" not in item["Type"]]
        given = [item.get("Properties", {}).items() for item in resources if item["Type"] != "AWS::IAM::Policy"]
        own = [(key, value) for properties in given for key, value in properties if isinstance(value, str)]
        return {
            value for key, value in own if re.fullmatch("(|Function|Table|Queue|LogGroup|Dashboard|Alarm)Name", key)
        }

    assert not names(synthesise(name="one")) & names(synthesise(name="two"))


@pytest.mark.parametrize("choices", [{}, EVERYTHING, TOKENS])
def test_the_security_rules_find_nothing_that_was_not_acknowledged(
    synthesise: Synthesise, choices: dict[str, Any]
) -> None:
    # A violation stops the synth; this shows that the rules ran.
    assert "AwsSolutions-L1" in synthesise(**choices).acknowledged


@pytest.mark.parametrize("choices", [{}, EVERYTHING, TOKENS])
def test_cfn_lint_finds_nothing(synthesise: Synthesise, choices: dict[str, Any]) -> None:
    # W3005 is about dependencies that the CDK writes out although a reference implies them.
    found = lint(json.dumps(synthesise(**choices).template), config=ManualArgs(ignore_checks=["W3005"]))
    assert [str(match) for match in found] == []
