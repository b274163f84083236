"""What the rules of cdk-nag find and is meant to be so, each with its reason."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import IConstruct

from infra.config import Config

RUNTIME = "the locked wheels and the compiled files are for Python 3.13, which Lambda supports until 2029"
QUEUE = "it is itself where failed invocations end; an alarm watches it"
HEALTH = "GET /health is for load balancers and monitors: it tells nothing and calls no model"
DESTINATION = (
    "failed asynchronous invocations go to an on-failure destination, which keeps more than a dead-letter queue"
)
REGIONS = "a profile chooses the region of a call; the condition allows it through that profile only"
GUARDRAIL = "a guardrail with cross-Region inference is applied in a region that it chooses, through a profile of AWS's"
# What the rules ask of a REST API, and not of an HTTP API with the same routes.
REST = {
    "AwsSolutions-APIG2": "the function itself checks each request, and answers what is wrong with it",
    "AwsSolutions-APIG3": "a web ACL is a choice of the account, with a price of its own",
    "AwsSolutions-COG4": "auth says who is let in: SigV4 by default",
    "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]": (
        "API Gateway's own policy for the account's role, without which no REST API can log"
    ),
}
EMAIL = "an e-mail that can't be delivered is lost, but the alarm's state stays in the console"
XRAY = "X-Ray's write actions take no resource"


def acknowledge_findings(
    config: Config,
    *,
    role: IConstruct,
    function: IConstruct,
    queue: IConstruct,
    api: IConstruct,
    alarms: IConstruct,
    wildcards: Mapping[str, str],
    rest: IConstruct | None = None,
) -> None:
    """Acknowledges what the choices bring with them; `wildcards` are those in the role's policy, each with its reason."""
    for wildcard, reason in wildcards.items():
        _acknowledge(role, f"AwsSolutions-IAM5[{wildcard}]", reason)
    if rest:
        for rule, reason in REST.items():
            _acknowledge(rest, rule, reason)
    if config.tracing:
        _acknowledge(role, "AwsSolutions-IAM5[Resource::*]", XRAY)
    else:
        _acknowledge(function, "Serverless-LambdaTracing", "turned off by the choice tracing=false")
    _acknowledge(function, "AwsSolutions-L1", RUNTIME)
    _acknowledge(function, "Serverless-LambdaLatestVersion", RUNTIME)
    _acknowledge(function, "Serverless-LambdaDLQ", DESTINATION)
    if config.alarm_email:
        _acknowledge(alarms, "Serverless-SNSRedrivePolicy", EMAIL)
    _acknowledge(queue, "AwsSolutions-SQS3", QUEUE)
    _acknowledge(queue, "Serverless-SQSRedrivePolicy", QUEUE)
    _acknowledge(
        api, "AwsSolutions-APIG4", "open to anyone by the choice auth=none" if config.auth == "none" else HEALTH
    )


def _acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    # The pack's name comes first, else the finding is missing from the report instead of listed with its reason.
    pack = rule.partition("-")[0]
    cdk.Validations.of(construct).acknowledge(cdk.Acknowledgment(id=f"{pack}::{rule}", reason=reason))
