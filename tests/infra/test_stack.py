"""The stack keeps the deployment's promises: table, function, names, and what the security rules say."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint  # type: ignore[import-untyped]

from infra.bundling import PYTHON
from infra.regions import MISSING
from tests.infra.synthesis import ENDPOINT, EVERYTHING, KEY, POOL_TOKENS, STREAMS, TOKENS, UNWATCHED, Synthesis
from tests.infra.test_regions import COMMERCIAL, GOVERNMENT

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
        {"AttributeName": "waiting", "AttributeType": "S"},
        {"AttributeName": "waiting_since", "AttributeType": "S"},
    ]
    [index] = table["GlobalSecondaryIndexes"]
    assert index == {
        "IndexName": "waiting",
        "KeySchema": [
            {"AttributeName": "waiting", "KeyType": "HASH"},
            {"AttributeName": "waiting_since", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
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


def test_the_key_also_encrypts_logs_failures_and_environment_and_its_policy_lets_the_logs(
    synthesise: Synthesise,
) -> None:
    made, named = synthesise(**EVERYTHING), synthesise(**TOKENS)
    [key] = made.resources("KMS::Key")
    for stack, expected in ((made, {"Fn::GetAtt": [key, "Arn"]}), (named, KEY)):
        groups = stack.resources("Logs::LogGroup").values()
        assert [group["KmsKeyId"] for group in groups] == [expected, expected]
        assert stack.resource("SQS::Queue")["KmsMasterKeyId"] == expected
        assert "SqsManagedSseEnabled" not in stack.resource("SQS::Queue")
        assert stack.resource("Lambda::Function")["KmsKeyArn"] == expected
    statements = made.resource("KMS::Key")["KeyPolicy"]["Statement"]
    [statement] = [item for item in statements if "logs." in str(item["Principal"])]
    assert statement["Principal"] == {"Service": "logs.us-east-1.amazonaws.com"}
    assert ":logs:us-east-1:123456789012:log-group:*" in str(statement["Condition"])
    # Of a key that is somebody's own, the policy can't be changed here: the synth shows what it must say.
    assert "kms_key encrypts the logs too" in named.notes
    assert "kms:EncryptionContext:aws:logs:arn" in named.notes


def test_protected_stacks_and_tables_cannot_be_deleted(synthesise: Synthesise, stack: Synthesis) -> None:
    chosen = synthesise(**EVERYTHING)
    assert chosen.manifest["properties"]["terminationProtection"] is True
    assert chosen.resource("DynamoDB::Table")["DeletionProtectionEnabled"] is True
    assert stack.manifest["properties"]["terminationProtection"] is False
    assert not stack.resource("DynamoDB::Table").get("DeletionProtectionEnabled")


def test_everything_that_takes_tags_has_the_stacks_and_the_chosen_ones(
    synthesise: Synthesise, stack: Synthesis
) -> None:
    def tags(resource: dict[str, Any]) -> dict[str, str]:
        found = resource["Tags"]
        return found if isinstance(found, dict) else {item["Key"]: item["Value"] for item in found}

    kinds = ("Lambda::Function", "DynamoDB::Table", "SQS::Queue", "Logs::LogGroup", "ApiGatewayV2::Api", "KMS::Key")
    wanted = {"application": "agent", **EVERYTHING["tags"]}
    for kind in kinds:
        for resource in synthesise(**EVERYTHING).resources(kind).values():
            assert tags(resource) == wanted
    assert synthesise(**EVERYTHING).manifest["properties"]["tags"] == wanted
    assert tags(stack.resource("Lambda::Function")) == {"application": "agent"}


def test_a_table_that_is_there_already_is_used_and_not_made(synthesise: Synthesise) -> None:
    stack = synthesise(**ENDPOINT)
    assert not stack.resources("DynamoDB::Table")
    assert stack.environment()["TABLE_NAME"] == ENDPOINT["session_table"]
    for statement in stack.allowed("dynamodb"):
        assert all(ENDPOINT["session_table"] in str(resource) for resource in statement["Resource"])


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
    assert stack.environment()["POWERTOOLS_TRACE_DISABLED"] == "true"
    assert "POWERTOOLS_TRACE_DISABLED" not in synthesise().environment()


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
        ("AWS::Logs::LogGroup", "LogGroupName"),
        ("AWS::EventSchemas::Schema", "RegistryName"),
        # Of what CloudWatch watches, not of the alarm.
        ("AWS::CloudWatch::Alarm", "MetricName"),
    }


def test_stacks_of_different_names_live_side_by_side(synthesise: Synthesise) -> None:
    def names(stack: Synthesis) -> set[str]:
        # An inline policy's name belongs to its role.
        resources = stack.template["Resources"].values()
        given = [item.get("Properties", {}).items() for item in resources if item["Type"] != "AWS::IAM::Policy"]
        own = [(key, value) for properties in given for key, value in properties if isinstance(value, str)]
        return {
            value for key, value in own if re.fullmatch("(|Function|Table|Queue|LogGroup|Dashboard|Alarm)Name", key)
        }

    one, two = names(synthesise()), names(synthesise(**UNWATCHED))
    assert one
    assert not one & two


@pytest.mark.parametrize("choices", [{}, EVERYTHING, TOKENS, ENDPOINT, STREAMS, POOL_TOKENS])
def test_the_security_rules_find_nothing_that_was_not_acknowledged(
    synthesise: Synthesise, choices: dict[str, Any]
) -> None:
    # A violation stops the synth; this shows that the rules ran.
    assert "AwsSolutions-L1" in synthesise(**choices).acknowledged


@pytest.mark.parametrize("choices", [{}, EVERYTHING, TOKENS, ENDPOINT, STREAMS, POOL_TOKENS])
def test_cfn_lint_finds_nothing_in_any_region_that_has_what_was_chosen(
    synthesise: Synthesise, choices: dict[str, Any]
) -> None:
    lacking = {region for key, regions in MISSING.values() if choices.get(key) for region in regions}
    assert lint_of(synthesise(**choices), [region for region in COMMERCIAL if region not in lacking]) == []


def test_cfn_lint_finds_nothing_in_the_government_regions(synthesise: Synthesise) -> None:
    stack = synthesise("us-gov-west-1")
    assert stack.environment()["MODEL_ID"].startswith("us-gov.")
    assert "arn:aws-us-gov:" in str(stack.allowed("bedrock"))
    assert lint_of(stack, GOVERNMENT) == []


@pytest.mark.slow
def test_every_region_synthesises_to_a_template_in_which_cfn_lint_finds_nothing(synthesise: Synthesise) -> None:
    # Most differ by the region's name alone, and are then looked at once for all of them.
    alike: dict[str, list[str]] = {}
    for region in [*COMMERCIAL, *GOVERNMENT]:
        alike.setdefault(json.dumps(synthesise(region).template).replace(region, "REGION"), []).append(region)
    assert len(alike) < 10
    for regions in alike.values():
        assert lint_of(synthesise(regions[0]), regions) == []


def lint_of(stack: Synthesis, regions: list[str]) -> list[str]:
    """What cfn-lint finds, by all rules for errors and warnings but one."""
    # W3005 is about dependencies that the CDK writes out although a reference implies them.
    arguments = ManualArgs(ignore_checks=["W3005"], regions=regions)
    return [str(match) for match in lint(json.dumps(stack.template), config=arguments)]
