"""The session table: one item a turn, deleted by its time to live."""

import json

import aws_cdk as cdk
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.config import Config

COLONS = cdk.ArnFormat.COLON_RESOURCE_NAME
# What the function's adapter calls, and nothing else.
ACTIONS = (
    "dynamodb:Query",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:BatchWriteItem",
)
# The keys of the turns that wait for a person, as the function writes them only while they do.
INDEX = "waiting"
INDEX_ACTIONS = ("dynamodb:Query", "dynamodb:Scan")
# What a caller needs on an own key, without wildcards: "Customer managed keys" in the DynamoDB Developer Guide.
KEY_ACTIONS = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)


class SessionTable(Construct):
    """The table, made or one that is there already, and by choice the KMS key that encrypts what the stack keeps."""

    def __init__(self, scope: Construct, construct_id: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        removal = cdk.RemovalPolicy.RETAIN if config.retain_sessions else cdk.RemovalPolicy.DESTROY
        self.key = _key(self, config.kms_key, removal)
        if config.session_table:
            self.table: dynamodb.ITable = dynamodb.Table.from_table_name(self, "Table", config.session_table)
            return
        encryption = dynamodb.TableEncryption.CUSTOMER_MANAGED if self.key else dynamodb.TableEncryption.DEFAULT
        table = self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name="session_id", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="turn", type=dynamodb.AttributeType.NUMBER),
            time_to_live_attribute="expires_at",
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            encryption=encryption,
            encryption_key=self.key,
            removal_policy=removal,
            deletion_protection=config.deletion_protection,
        )
        table.add_global_secondary_index(
            index_name=INDEX,
            partition_key=dynamodb.Attribute(name="waiting", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="waiting_since", type=dynamodb.AttributeType.STRING),
            projection_type=dynamodb.ProjectionType.KEYS_ONLY,
        )

    def grant(self, role: iam.IRole) -> None:
        """Lets the role do what the function does with sessions, and use the key."""
        arn = self.table.table_arn
        for actions, resource in ((ACTIONS, arn), (INDEX_ACTIONS, f"{arn}/index/{INDEX}")):
            role.add_to_principal_policy(iam.PolicyStatement(actions=list(actions), resources=[resource]))
        if self.key:
            self.key.grant(role, *KEY_ACTIONS)


def _key(scope: Construct, choice: str | None, removal: cdk.RemovalPolicy) -> kms.IKey | None:
    if choice is None:
        return None
    stack = cdk.Stack.of(scope)
    logs_may = _logs_may(stack)
    if choice != "create":
        told = json.dumps(stack.resolve(logs_may.to_statement_json()))
        sentence = f"kms_key encrypts the logs too, so its own policy must hold this statement: {told}"
        cdk.Annotations.of(scope).add_info_v2("agent:key-policy", sentence)
        return kms.Key.from_key_arn(scope, "Key", choice)
    key = kms.Key(scope, "Key", enable_key_rotation=True, removal_policy=removal)
    key.add_to_resource_policy(logs_may)
    return key


def _logs_may(stack: cdk.Stack) -> iam.PolicyStatement:
    """What a key's policy must say for log groups of the account: "Encrypt log data in CloudWatch Logs" in its User Guide."""
    groups = stack.format_arn(service="logs", resource="log-group", resource_name="*", arn_format=COLONS)
    return iam.PolicyStatement(
        principals=[iam.ServicePrincipal(f"logs.{stack.region}.amazonaws.com")],
        actions=["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"],
        resources=["*"],
        conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
    )
