"""The sparse index `waiting` of the session table: the keys of the turns that wait for a person."""

from typing import Any

from msgspec.structs import asdict

from agent.adapters.dynamodb.items import from_item
from agent.adapters.dynamodb.store import read
from agent.aws.errors import ServiceError
from agent.deadline import Deadline
from agent.errors import InvalidRequestError, MisconfiguredError, StorageUnavailableError
from agent.ports import IndexKey, StoredTurn

INDEX = "waiting"
_LOOKED_AT = 50  # entries of a page
_NO_INDEX = "the session table has no index that can be read by its name, " + INDEX


class DynamoDBIndex:
    """The WaitingIndex port. A caller's entries are one partition; those of all callers are scanned."""

    def __init__(self, client: Any, table_name: str) -> None:
        self._client = client
        self._table = table_name

    def page(self, caller: str, after: IndexKey | None, deadline: Deadline) -> tuple[list[IndexKey], IndexKey | None]:
        """The index is eventually consistent: a turn may be missing in it, or be there still, for some seconds."""
        query: dict[str, Any] = {"IndexName": INDEX, "Limit": _LOOKED_AT}
        if caller:
            query["KeyConditionExpression"] = "waiting = :caller"
            query["ExpressionAttributeValues"] = {":caller": {"S": caller}}
        if after:
            query["ExclusiveStartKey"] = _item(after)
        operation = "Query" if caller else "Scan"
        try:
            page = read(self._client, self._table, operation, query, deadline, "Items")
        except StorageUnavailableError as error:
            refused = error.__cause__
            if not isinstance(refused, ServiceError) or refused.code != "ValidationException":
                raise
            if after:  # a place that can't be in the index
                raise InvalidRequestError("next is not the next of a page.") from error
            raise MisconfiguredError(detail=f"{_NO_INDEX}: {error.detail}") from error
        keys = [_key(item) for item in page["Items"]]
        return keys, _key(page["LastEvaluatedKey"]) if "LastEvaluatedKey" in page else None

    def turn_and_next(self, key: str, turn: int, deadline: Deadline) -> list[StoredTurn]:
        """Read consistently from the table itself."""
        query = {
            "KeyConditionExpression": "session_id = :key AND turn >= :turn",
            "ExpressionAttributeValues": {":key": {"S": key}, ":turn": {"N": str(turn)}},
            "ConsistentRead": True,
            "Limit": 2,
        }
        return [
            from_item(item) for item in read(self._client, self._table, "Query", query, deadline, "Items")["Items"]
        ][::-1]


def _item(key: IndexKey) -> dict[str, Any]:
    return {name: {"N": str(value)} if name == "turn" else {"S": value} for name, value in asdict(key).items()}


def _key(item: dict[str, Any]) -> IndexKey:
    texts = {name: item[name]["S"] for name in ("session_id", "waiting", "waiting_since")}
    return IndexKey(turn=int(item["turn"]["N"]), **texts)
