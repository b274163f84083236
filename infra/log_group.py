"""A log group that keeps its lines for the chosen time and goes with the stack."""

import aws_cdk as cdk
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct


def log_group(
    scope: Construct, construct_id: str, days: int, key: kms.IKey | None = None, *, name: str | None = None
) -> logs.LogGroup:
    """A log group with a retention in days, one of those that CloudWatch Logs knows, encrypted with a key if there is one."""
    # The construct takes an enum that Python can't look up by days; the resource takes the days.
    group = logs.LogGroup(
        scope,
        construct_id,
        log_group_name=name,
        encryption_key=key,
        retention=logs.RetentionDays.INFINITE,
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    resource = group.node.default_child
    assert isinstance(resource, logs.CfnLogGroup)
    resource.retention_in_days = days
    return group
