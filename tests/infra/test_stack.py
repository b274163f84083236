"""The stack keeps the deployment's promises: table, function, names, and what the security rules say."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint  # type: ignore[import-untyped]

from infra.bundling import PYTHON
from tests.infra.synthesis import ENDPOINT, EVERYTHING, KEY, TOKENS, Synthesis

Synthesise = Callable[..., Synthesis]


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
        [statement] = [item for item in stack.allowed("kms") if "kms:Encrypt" in item["Action"]]
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


def test_sizes_and_limits_are_the_chosen_ones(synthesise: Synthesise) -> None:
    chosen = synthesise(**TOKENS)
    function = chosen.resource("Lambda::Function")
    assert function["Architectures"] == ["x86_64"]
    assert (function["MemorySize"], function["Timeout"]) == (2048, 300)
    assert [group["RetentionInDays"] for group in chosen.resources("Logs::LogGroup").values()] == [7, 7]
    limits = chosen.resource("ApiGatewayV2::Stage")["DefaultRouteSettings"]
    assert limits == {"ThrottlingRateLimit": 3, "ThrottlingBurstLimit": 4}


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
    policy = stack.resource("SQS::QueuePolicy")
    assert policy["Queues"] == [{"Ref": queue}]
    assert {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "sqs:*",
        "Resource": {"Fn::GetAtt": [queue, "Arn"]},
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    } in policy["PolicyDocument"]["Statement"]
    assert [statement["Resource"] for statement in stack.allowed("sqs")] == [[{"Fn::GetAtt": [queue, "Arn"]}]]


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
    assert not stack.allowed("xray")


def test_nothing_is_named_by_hand_but_the_api_and_what_the_stack_is_called_by(stack: Synthesis) -> None:
    named = {
        (item["Type"], key)
        for item in stack.template["Resources"].values()
        for key, value in item.get("Properties", {}).items()
        if re.fullmatch("(|[A-Z][a-z]+)Name", key) and isinstance(value, str)
    }
    assert named <= {
        ("AWS::ApiGatewayV2::Api", "Name"),
        ("AWS::ApiGatewayV2::Stage", "StageName"),
        ("AWS::Logs::QueryDefinition", "Name"),
        ("AWS::IAM::Policy", "PolicyName"),
        ("AWS::EventSchemas::Registry", "RegistryName"),
        ("AWS::EventSchemas::Schema", "RegistryName"),
        # Of what CloudWatch watches, not of the alarm.
        ("AWS::CloudWatch::Alarm", "MetricName"),
    }


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


@pytest.mark.parametrize("choices", [{}, EVERYTHING, TOKENS, ENDPOINT])
def test_the_security_rules_find_nothing_that_was_not_acknowledged(
    synthesise: Synthesise, choices: dict[str, Any]
) -> None:
    # A violation stops the synth; this shows that the rules ran.
    assert "AwsSolutions-L1" in synthesise(**choices).acknowledged


@pytest.mark.parametrize("choices", [{}, EVERYTHING, TOKENS, ENDPOINT])
def test_cfn_lint_finds_nothing(synthesise: Synthesise, choices: dict[str, Any]) -> None:
    # W3005 is about dependencies that the CDK writes out although a reference implies them.
    found = lint(json.dumps(synthesise(**choices).template), config=ManualArgs(ignore_checks=["W3005"]))
    assert [str(match) for match in found] == []
