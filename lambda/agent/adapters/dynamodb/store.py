"""Sessions in a DynamoDB table: one item a turn, reserved and completed on condition, in at most four calls a turn."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from agent.adapters.dynamodb.items import from_item, to_item, to_update
from agent.aws.errors import CallError, ServiceError, UnreadableError
from agent.deadline import Deadline
from agent.errors import AgentError, MisconfiguredError, SessionBusyError, StorageUnavailableError
from agent.ports import StoredTurn, seconds_left
from agent.sessions.states import state_of

_ATTEMPTS = 3
_FIRST_PAUSE = 0.05  # seconds; doubled, with jitter
_TO_WRITE = 0.6  # of the time that is left to save: the rest is for reading back what became of it
_CONDITION = "ConditionalCheckFailedException"
_SURPLUS = 25  # items beyond the wanted ones that one query reads, so that they can be deleted
_NO_TURN_OF_OURS = (
    10**15
)  # a number that only a hand can have written; counting on from it would leave DynamoDB's range
_FOR_THE_MODEL = "turn,#s,request_id,messages,lease_id,lease_until,expires_at,approvals,waiting"
_HELD = "lease_id=:l"


class DynamoDBStore:
    """The SessionStore port over a client whose calls make one attempt each."""

    def __init__(self, client: Any, table_name: str) -> None:
        self._client = client
        self._table = table_name

    def load(self, key: str, pairs: int, now: float, deadline: Deadline, *, whole: bool = False) -> list[StoredTurn]:
        """The newest turns first, read consistently, page after page until enough completed ones are seen."""
        turns: list[StoredTurn] = []
        query: dict[str, Any] = {
            "KeyConditionExpression": "session_id=:k",
            "ExpressionAttributeValues": {":k": {"S": key}},
            "ScanIndexForward": False,
            "ConsistentRead": True,
            "Limit": pairs + _SURPLUS,
        }
        if not whole:
            query |= {"ProjectionExpression": _FOR_THE_MODEL, "ExpressionAttributeNames": {"#s": "status"}}
        while True:
            page = self._page(query, deadline)
            found = (replace(from_item(item), key=key) for item in page["Items"])
            turns += [turn for turn in found if 0 < turn.turn < _NO_TURN_OF_OURS]
            enough = sum(state_of(turn, now).is_pair for turn in turns) >= pairs
            if enough or "LastEvaluatedKey" not in page:
                return turns
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def get(self, key: str, turn: int, deadline: Deadline) -> StoredTurn | None:
        """One turn, whole."""
        answer = read(self._client, self._table, "GetItem", {"Key": _key(key, turn), "ConsistentRead": True}, deadline)
        return from_item(answer["Item"]) if "Item" in answer else None

    def reserve(self, turn: StoredTurn, replacing: StoredTurn | None, now: float, deadline: Deadline) -> None:
        """One attempt: if its answer is lost, StorageUnavailableError, and reading tells who holds the turn."""
        condition = _as_seen(replacing) if replacing else {"ConditionExpression": "attribute_not_exists(turn)"}
        self._take("PutItem", {"Item": to_item(turn), **condition}, now, deadline)

    def lease(self, turn: StoredTurn, seen: StoredTurn, now: float, deadline: Deadline) -> None:
        """One attempt, like `reserve`; nothing else of the item is touched."""
        update = {"Key": _key(turn.key, turn.turn), **_as_seen(seen)}
        update["ExpressionAttributeValues"] |= {":id": {"S": turn.lease_id}, ":until": {"N": str(turn.lease_until)}}
        remove = "" if turn.waiting else " REMOVE waiting, waiting_since"
        update["UpdateExpression"] = f"SET lease_id = :id, lease_until = :until{remove}"
        self._take("UpdateItem", update, now, deadline)

    def save(self, turn: StoredTurn, deadline: Deadline) -> None:
        """Sends the same update again after an unclear failure, which changes nothing if it had been made."""
        key, changed = to_update(turn)
        values = {f":{number}": value for number, value in enumerate(changed.values())}
        update = {
            "Key": key,
            "UpdateExpression": "SET " + ",".join(f"#{number}=:{number}" for number in range(len(changed))),
            "ConditionExpression": _HELD,
            "ExpressionAttributeNames": {f"#{number}": name for number, name in enumerate(changed)},
            "ExpressionAttributeValues": {**values, ":l": {"S": turn.lease_id}},
        }
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._call("UpdateItem", update, deadline.share(_TO_WRITE))
                return
            except CallError as error:
                if _is_refused(error):
                    raise SessionBusyError(detail="another request has taken the turn over") from error
                ours = translated(error)
                if isinstance(ours, StorageUnavailableError):
                    if attempt < _ATTEMPTS and deadline.pause(attempt, _FIRST_PAUSE):
                        continue
                    if self._is_saved(key, {**changed, "lease_id": {"S": turn.lease_id}}, deadline):
                        return
                raise ours from error

    def free(self, turn: StoredTurn, deadline: Deadline) -> None:
        """Deletes on condition."""
        condition = {
            "ConditionExpression": f"{_HELD} OR attribute_not_exists(turn)",
            "ExpressionAttributeValues": {":l": {"S": turn.lease_id}},
        }
        try:
            self._call("DeleteItem", {"Key": _key(turn.key, turn.turn), **condition}, deadline)
        except CallError as error:
            if _is_refused(error):
                raise SessionBusyError(detail="another request has taken the turn over") from error
            raise translated(error) from error

    def trim(self, key: str, turns: Sequence[int], deadline: Deadline) -> None:
        """One call, without another attempt: what is left is deleted by the next turn."""
        if len(turns) == 1:
            self._delete({"Key": _key(key, turns[0])}, deadline)
            return
        requests = [{"DeleteRequest": {"Key": _key(key, turn)}} for turn in turns]
        try:
            self._client.call("BatchWriteItem", {"RequestItems": {self._table: requests}}, deadline)
        except CallError as error:
            raise translated(error) from error

    def forget(self, key: str, now: float, deadline: Deadline) -> None:
        """Reads and deletes until nothing is left; a turn that begins meanwhile is noticed by the next reading."""
        query: dict[str, Any] = {
            "KeyConditionExpression": "session_id=:k",
            "ExpressionAttributeValues": {":k": {"S": key}},
            "ConsistentRead": True,
            "ProjectionExpression": "session_id,turn,#status,lease_id,lease_until,expires_at",
            "ExpressionAttributeNames": {"#status": "status"},
        }
        while items := self._page(query, deadline)["Items"]:
            for turn in map(from_item, items):
                if state_of(turn, now).holds:
                    raise SessionBusyError(retry_after=seconds_left(turn.lease_until, now))
            for item in items:
                self._delete_as_seen(item, deadline)

    def _delete_as_seen(self, item: dict[str, Any], deadline: Deadline) -> None:
        """Deletes an item by its key as it stands, unless another request has reserved it since."""
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(lease_id)"}
        if "lease_id" in item:
            values = {":l": item["lease_id"]}
            condition = {"ConditionExpression": _HELD, "ExpressionAttributeValues": values}
        self._delete({"Key": {name: item[name] for name in ("session_id", "turn")}, **condition}, deadline)

    def _delete(self, parameters: dict[str, Any], deadline: Deadline) -> None:
        """One attempt; that a condition is not met is as good as done."""
        try:
            self._call("DeleteItem", parameters, deadline)
        except CallError as error:
            if not _is_refused(error):
                raise translated(error) from error

    def _take(self, operation: str, write: dict[str, Any], now: float, deadline: Deadline) -> None:
        try:
            self._call(operation, {**write, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}, deadline)
        except CallError as error:
            if isinstance(error, ServiceError) and error.code == _CONDITION:
                standing = from_item(error.answer.get("Item") or {})
                raise SessionBusyError(retry_after=seconds_left(standing.lease_until, now)) from error
            raise translated(error) from error

    def _page(self, query: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        return read(self._client, self._table, "Query", query, deadline, "Items")

    def _is_saved(self, key: dict[str, Any], wanted: dict[str, Any], deadline: Deadline) -> bool:
        try:
            found = self._call("GetItem", {"Key": key, "ConsistentRead": True}, deadline).get("Item", {})
        except CallError:
            return False
        return all(found.get(name) == value for name, value in wanted.items())

    def _call(self, operation: str, parameters: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        answer: dict[str, Any] = self._client.call(operation, {"TableName": self._table, **parameters}, deadline)
        return answer


def read(
    client: Any, table: str, operation: str, parameters: dict[str, Any], deadline: Deadline, holds: str = ""
) -> dict[str, Any]:
    """The answer of a call that changes nothing, which must hold this; further attempts begin only before the deadline."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            answer: dict[str, Any] = client.call(operation, {"TableName": table, **parameters}, deadline)
            if not holds or holds in answer:
                return answer
            raise UnreadableError(f"the answer holds no {holds}")
        except CallError as error:
            ours = translated(error)
            last = attempt == _ATTEMPTS or not isinstance(ours, StorageUnavailableError)
            if last or not deadline.pause(attempt, _FIRST_PAUSE):
                raise ours from error
    raise StorageUnavailableError


def _is_refused(error: CallError) -> bool:
    return isinstance(error, ServiceError) and error.code == _CONDITION


def _as_seen(turn: StoredTurn) -> dict[str, Any]:
    """The condition that the item of a turn is as it was seen."""
    # what is no text was read as a blank one
    held = _HELD if turn.lease_id else f"{_HELD} OR NOT attribute_type(lease_id, :text)"
    values = {":status": {"S": turn.status}, ":l": {"S": turn.lease_id}}
    return {
        "ConditionExpression": f"#status = :status AND ({held})",
        "ExpressionAttributeNames": {"#status": "status"},
        "ExpressionAttributeValues": values if turn.lease_id else {**values, ":text": {"S": "S"}},
    }


def _key(key: str, turn: int) -> dict[str, Any]:
    return {"session_id": {"S": key}, "turn": {"N": str(turn)}}


def translated(error: CallError) -> AgentError:
    """Our error for what became of a call."""
    if isinstance(error, ServiceError) and error.is_misconfigured:
        return MisconfiguredError(detail=f"{error} (check TABLE_NAME and the function's permissions)")
    return StorageUnavailableError(detail=str(error))
