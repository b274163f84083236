"""A function to run in place of lambda/: it answers with what it got."""

from pathlib import Path

import pytest

from local.stack import Choices

HANDLER = """
import logging
import os

import boto3

logger = logging.getLogger(os.environ["POWERTOOLS_SERVICE_NAME"])
logger.setLevel(logging.INFO)


def lambda_handler(event, context):
    print("said by a tool")
    question = event.get("question", "")
    if question == "raise":
        raise ValueError("no such thing")
    if question == "refuse":
        return {"error": {"code": "invalid_request", "message": "Not a question."}, "request_id": "r"}
    if question == "unserialisable":
        return object()
    logger.info("tool use", extra={"gen_ai.tool.name": "echo", "status": "success", "milliseconds": 3})
    session = event.get("session_id", "made-up")
    table = boto3.client("dynamodb")
    key = {"session_id": {"S": session}}
    turn = 1 + table.query(
        TableName=os.environ["TABLE_NAME"],
        KeyConditionExpression="session_id = :id",
        ExpressionAttributeValues={":id": {"S": session}},
    )["Count"]
    item = key | {"turn": {"N": str(turn)}, "status": {"S": "done"}, "question": {"S": question}}
    table.put_item(TableName=os.environ["TABLE_NAME"], Item=item | {"expires_at": {"N": "1900000000"}})
    answer = {"answer": f"You said: {question}", "session_id": session, "turn": turn, "stop_reason": "end_turn"}
    answer |= {"usage": {"input_tokens": 5, "output_tokens": 7}, "steps": 1, "pairs": os.environ.get("HISTORY_PAIRS")}
    return answer if "routeKey" not in event else {"statusCode": 200, "body": event.get("body", "")}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder in place of lambda/, whose function echoes."""
    folder = tmp_path / "lambda"
    folder.mkdir()
    (folder / "handler.py").write_text(HANDLER)
    return folder


@pytest.fixture
def choices(root: Path) -> Choices:
    """The echoing function in the offline stack."""
    return Choices(root=root)
