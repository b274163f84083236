"""Tokens of each caller by day, counted atomically in the session table, under a key that no session can have."""

from datetime import UTC, datetime
from typing import Any

from agent.adapters.dynamodb.store import translated
from agent.aws.errors import CallError
from agent.deadline import Deadline

_KEPT_SECONDS = 2 * 24 * 60 * 60  # until every clock agrees that the day is over


class DynamoDBMeter:
    """The Meter port: one item a caller and day; its sort key is the day as a number, such as 20261129."""

    def __init__(self, client: Any, table_name: str) -> None:
        self._client = client
        self._table = table_name

    def used(self, caller: str, now: float, deadline: Deadline) -> int:
        """The tokens counted today; what was written by hand and is no number counts as none."""
        key = {"TableName": self._table, "Key": _key(caller, now), "ConsistentRead": True}
        try:
            item = self._client.call("GetItem", key, deadline).get("Item", {})
        except CallError as error:
            raise translated(error) from error
        text = item.get("tokens", {}).get("N", "0")
        return int(text) if text.isdigit() else 0

    def add(self, caller: str, tokens: int, now: float, deadline: Deadline) -> None:
        """One attempt: counting twice is worse than counting once too few."""
        values = {":tokens": {"N": str(tokens)}, ":end": {"N": str(int(now) + _KEPT_SECONDS)}}
        update = {
            "TableName": self._table,
            "Key": _key(caller, now),
            "UpdateExpression": "ADD tokens :tokens SET expires_at = :end",
            "ExpressionAttributeValues": values,
        }
        try:
            self._client.call("UpdateItem", update, deadline)
        except CallError as error:
            raise translated(error) from error


def _key(caller: str, now: float) -> dict[str, Any]:
    # no session's key begins with #: a session id can't hold it, and a caller's hash stands before it
    day = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d")
    return {"session_id": {"S": f"#tokens#{caller or 'direct'}"}, "turn": {"N": day}}
