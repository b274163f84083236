"""What a deploy prints: the names of what was made, and a command to call each."""

import json

import aws_cdk as cdk

from infra.api import AgentApi
from infra.config import Config
from infra.function import AgentFunction
from infra.rest_api import AgentRestApi
from infra.session_table import SessionTable

QUESTION = json.dumps({"question": "What is the sine of 1?"})
# Users have no session token, and curl would sign its empty header without sending it. Two expansions, each of one word,
# mean the same in every shell.
SIGV4 = (
    '--user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" ${{AWS_SESSION_TOKEN:+--header}}'
    ' ${{AWS_SESSION_TOKEN:+"x-amz-security-token: $AWS_SESSION_TOKEN"}} --aws-sigv4 "aws:amz:{region}:{service}"'
)


def add_outputs(
    stack: cdk.Stack, config: Config, table: SessionTable, function: AgentFunction, api: AgentApi | AgentRestApi
) -> None:
    """Adds the outputs to the stack."""
    credentials = {
        "iam": SIGV4.format(region=stack.region, service="execute-api"),
        "jwt": '--header "authorization: Bearer $TOKEN"',
        "none": "",
    }[config.auth]
    values = {
        "TableName": table.table.table_name,
        "FunctionName": function.function.function_name,
        "ApiUrl": api.url,
        "CallApi": _curl(f"{api.url}/chat", credentials),
        "CallFunction": _invoke(function.target.function_arn, stack.region, config.timeout_seconds),
        "FailureQueueUrl": function.failures.queue_url,
    }
    if function.url:
        values["FunctionUrl"] = function.url
        values["CallFunctionUrl"] = _curl(f"{function.url}chat", SIGV4.format(region=stack.region, service="lambda"))
    for name, value in values.items():
        cdk.CfnOutput(stack, name, value=value)


def _invoke(function: str, region: str, timeout_seconds: int) -> str:
    """A line that both versions of the AWS CLI take, which read a payload's text in two ways and fileb:// in one.

    The CLI gives up after 60 s and tries again. So it waits longer than the function, and the id lets a retry find the first
    answer.
    """
    event = QUESTION.replace("}", ', "request_id": "\'$(date +%s)\'"}')
    waits = f"--cli-read-timeout {timeout_seconds + 10}"
    to = f"--function-name {function} --region {region}"
    return f"echo '{event}' | aws lambda invoke {to} {waits} --payload fileb:///dev/stdin /dev/stdout"


def _curl(url: str, credentials: str) -> str:
    words = ["curl", credentials, "--header 'content-type: application/json'", f"--data '{QUESTION}'", url]
    return " ".join(filter(None, words))
