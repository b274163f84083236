"""Invocations that failed to the last, sent to the function again: `python -m infra.redrive [-c environment=staging]`.

Each goes out asynchronously as before, and leaves the queue once Lambda has taken it. A question keeps its request id, so that
one that was answered after all gets that answer and is not asked twice.
"""

import json
import sys
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.account import AccountError, caller, session_of
from infra.choices import ConfigError
from infra.command_line import chosen, profile_of
from infra.context import choices, config_sentences


def redrive(sqs: Any, lambda_: Any, queue: str, function: str) -> tuple[int, int]:
    """Sends what lies in a queue (its URL) to a function (its name or ARN). Returns how many were sent, and how many stay."""
    sent = 0
    kept: set[str] = set()
    while True:
        found = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=1, VisibilityTimeout=60)
        messages = [each for each in found.get("Messages", []) if each["MessageId"] not in kept]
        if not messages:
            return sent, len(kept)
        for message in messages:
            event = event_of(message["Body"])
            if event is None:
                kept.add(message["MessageId"])
                continue
            payload = json.dumps(event, ensure_ascii=False).encode()
            lambda_.invoke(FunctionName=function, InvocationType="Event", Payload=payload)
            sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
            sent += 1


def event_of(body: str) -> dict[str, Any] | None:
    """The event of a failed invocation: within what Lambda tells a destination, or by itself. None for anything else."""
    try:
        told = json.loads(body)
    except ValueError:
        return None
    event = told.get("requestPayload", told) if isinstance(told, dict) else None
    if not isinstance(event, dict):
        return None
    invocation = told.get("requestContext", {}).get("requestId") if event is not told else None
    # Without an id of its own a question's is the invocation's, which is another now.
    return (
        {**event, "request_id": invocation}
        if invocation and "question" in event and "request_id" not in event
        else event
    )


def main(arguments: list[str]) -> int:
    """Redrives the queue of the stack that cdk.json and `-c` name. Returns 1 where something stays, or nothing could be done."""
    try:
        session = session_of(profile_of(arguments))
        config = choices(chosen(arguments), session.region_name)
        caller(session)
        [stack] = session.client("cloudformation").describe_stacks(StackName=config.name)["Stacks"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
        queue, function = outputs["FailureQueueUrl"], outputs["FunctionName"]
        sent, kept = redrive(session.client("sqs"), session.client("lambda"), queue, function)
    except ConfigError as error:
        print(config_sentences(error), file=sys.stderr)
        return 1
    except (AccountError, BotoCoreError, ClientError) as error:
        print(error, file=sys.stderr)
        return 1
    stays = f"; {kept} are no invocations and stay" if kept else ""
    print(f"{sent} sent to {function} again{stays}")
    return int(bool(kept))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
