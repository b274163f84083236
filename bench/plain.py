"""The script that people write by hand: the whole history as one list in one item, tools one after another, no limits."""

import os
from typing import Any

import boto3

_BEDROCK = boto3.client("bedrock-runtime")
_TABLE = boto3.resource("dynamodb").Table(os.environ["TABLE_NAME"])
_PAIRS = 10
_SCHEMA = {"type": "object", "properties": {"birthday": {"type": "string"}}, "required": ["birthday"]}
_SPEC = {"name": "read_fortune", "description": "Tell the fortune.", "inputSchema": {"json": _SCHEMA}}
_TOOLS: Any = {"tools": [{"toolSpec": _SPEC}]}


def lambda_handler(event: dict[str, Any], _: object) -> dict[str, Any]:
    """Answers {"question", "session_id"}."""
    key = {"session_id": event["session_id"], "turn": 0}
    messages: Any = _TABLE.get_item(Key=key).get("Item", {}).get("messages", [])
    messages.append({"role": "user", "content": [{"text": event["question"]}]})
    while True:
        response = _BEDROCK.converse(
            modelId=os.environ["MODEL_ID"],
            system=[{"text": "You are helpful."}],
            messages=messages,
            toolConfig=_TOOLS,
        )
        messages.append(response["output"]["message"])
        uses = [block["toolUse"] for block in messages[-1]["content"] if "toolUse" in block]
        if not uses:
            break
        results = [{"toolUseId": use["toolUseId"], "content": [{"text": "大吉"}], "status": "success"} for use in uses]
        messages.append({"role": "user", "content": [{"toolResult": result} for result in results]})
    questions = [n for n, m in enumerate(messages) if m["role"] == "user" and "text" in m["content"][0]]
    _TABLE.put_item(Item={**key, "messages": messages[questions[-_PAIRS:][0] :]})
    return {"answer": messages[-1]["content"][0]["text"]}
