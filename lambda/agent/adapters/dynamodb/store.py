"""Sessions in a DynamoDB table: one item a turn, reserved and completed on condition, in at most four calls a turn."""

from collections.abc import Callable, Sequence
from typing import Any

from botocore.parsers import ResponseParserError
from msgspec.structs import replace

from agent.adapters.aws import SDK_ERRORS, error_code, is_misconfigured, pause
from agent.adapters.dynamodb.items import from_item, to_item, to_update
from agent.deadline import Deadline
from agent.errors import AgentError, LeaseLostError, MisconfiguredError, SessionBusyError, StorageUnavailableError
from agent.ports import StoredTurn, seconds_left
from agent.sessions.states import state_of

_ATTEMPTS = 3
_FIRST_PAUSE = 0.05  # seconds; doubled, with jitter
_READING = 6.0  # seconds in which attempts to forget a session may begin
_CONDITION = "ConditionalCheckFailedException"
_SURPLUS = 25  # items beyond the wanted ones that one query reads, so that they can be deleted
_NO_TURN_OF_OURS = (
    10**15
)  # a number that only a hand can have written; counting on from it would leave DynamoDB's range
_FOR_THE_MODEL = "turn,#s,request_id,messages,lease_id,lease_until,expires_at"
_RESERVED_WORDS = ("status", "response", "usage")  # of DynamoDB, among the names of our attributes
_HELD = "lease_id = :lease"


class DynamoDBStore:
    """The SessionStore port over a low-level client whose calls make one attempt each."""

    def __init__(self, client: Any, table_name: str) -> None:
        self._client = client
        self._table = table_name

    def load(self, key: str, pairs: int, now: float, deadline: Deadline, *, whole: bool = False) -> list[StoredTurn]:
        """The newest turns first, read consistently, page after page until enough completed ones are seen."""
        turns: list[StoredTurn] = []
        query: dict[str, Any] = {
            "KeyConditionExpression": "session_id = :key",
            "ExpressionAttributeValues": {":key": {"S": key}},
            "ScanIndexForward": False,
            "ConsistentRead": True,
            "Limit": pairs + _SURPLUS,
        }
        if not whole:
            query |= {"ProjectionExpression": _FOR_THE_MODEL, "ExpressionAttributeNames": {"#s": "status"}}
        while True:
            page = self._read(lambda: self._page(query), deadline)
            found = (replace(from_item(item), key=key) for item in page["Items"])
            turns += [turn for turn in found if 0 < turn.turn < _NO_TURN_OF_OURS]
            enough = sum(state_of(turn, now).is_pair for turn in turns) >= pairs
            if enough or "LastEvaluatedKey" not in page:
                return turns
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def get(self, key: str, turn: int, deadline: Deadline) -> StoredTurn | None:
        """One turn, whole."""
        answer = self._read(
            lambda: self._client.get_item(TableName=self._table, Key=_key(key, turn), ConsistentRead=True), deadline
        )
        return from_item(answer["Item"]) if "Item" in answer else None

    def reserve(self, turn: StoredTurn, replacing: StoredTurn | None, now: float) -> None:
        """One attempt: if its answer is lost, StorageUnavailableError, and reading tells who holds the turn."""
        if replacing is None:
            condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(turn)"}
        else:
            # what is no text was read as a blank one
            held = _HELD if replacing.lease_id else f"{_HELD} OR NOT attribute_type(lease_id, :text)"
            values = {":status": {"S": replacing.status}, ":lease": {"S": replacing.lease_id}}
            condition = {
                "ConditionExpression": f"#status = :status AND ({held})",
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": values if replacing.lease_id else {**values, ":text": {"S": "S"}},
            }
        try:
            self._client.put_item(
                TableName=self._table, Item=to_item(turn), ReturnValuesOnConditionCheckFailure="ALL_OLD", **condition
            )
        except SDK_ERRORS as error:
            if error_code(error) == _CONDITION:
                standing = from_item(getattr(error, "response", {}).get("Item") or {})
                raise SessionBusyError(retry_after=seconds_left(standing.lease_until, now)) from error
            raise translated(error) from error

    def save(self, turn: StoredTurn, deadline: Deadline) -> None:
        """Sends the same update again after an unclear failure, which changes nothing if it had been made."""
        key, changed = to_update(turn)
        names = {name: f"#{name}" if name in _RESERVED_WORDS else name for name in changed}
        values = {f":{number}": value for number, value in enumerate(changed.values())}
        update = {
            "TableName": self._table,
            "Key": key,
            "UpdateExpression": "SET " + ",".join(f"{name}=:{number}" for number, name in enumerate(names.values())),
            "ConditionExpression": _HELD,
            "ExpressionAttributeNames": {alias: name for name, alias in names.items() if alias != name},
            "ExpressionAttributeValues": {**values, ":lease": {"S": turn.lease_id}},
        }
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._client.update_item(**update)
                return
            except SDK_ERRORS as error:
                if error_code(error) == _CONDITION:
                    raise LeaseLostError(detail="another request has taken the turn over") from error
                ours = translated(error)
                if isinstance(ours, StorageUnavailableError):
                    if attempt < _ATTEMPTS and pause(attempt, _FIRST_PAUSE, deadline):
                        continue
                    if deadline.left() > 0 and self._is_saved(key, {**changed, "lease_id": {"S": turn.lease_id}}):
                        return
                raise ours from error

    def free(self, turn: StoredTurn) -> None:
        """Deletes on condition; that it is gone, or another's, is as good."""
        try:
            self._client.delete_item(
                TableName=self._table,
                Key=_key(turn.key, turn.turn),
                ConditionExpression=_HELD,
                ExpressionAttributeValues={":lease": {"S": turn.lease_id}},
            )
        except SDK_ERRORS as error:
            if error_code(error) != _CONDITION:
                raise translated(error) from error

    def trim(self, key: str, turns: Sequence[int]) -> None:
        """One call, without another attempt: what is left is deleted by the next turn."""
        try:
            if len(turns) == 1:
                self._client.delete_item(TableName=self._table, Key=_key(key, turns[0]))
            else:
                requests = [{"DeleteRequest": {"Key": _key(key, turn)}} for turn in turns]
                self._client.batch_write_item(RequestItems={self._table: requests})
        except SDK_ERRORS as error:
            raise translated(error) from error

    def forget(self, key: str, now: float) -> None:
        """Reads and deletes until nothing is left; a turn that begins meanwhile is noticed by the next reading."""
        query: dict[str, Any] = {
            "KeyConditionExpression": "session_id = :key",
            "ExpressionAttributeValues": {":key": {"S": key}},
            "ConsistentRead": True,
            "ProjectionExpression": "session_id,turn,#status,lease_id,lease_until,expires_at",
            "ExpressionAttributeNames": {"#status": "status"},
        }
        deadline = Deadline.after(_READING)
        while items := self._read(lambda: self._page(query), deadline)["Items"]:
            for turn in map(from_item, items):
                if state_of(turn, now).holds:
                    raise SessionBusyError(retry_after=seconds_left(turn.lease_until, now))
            for item in items:
                self._delete_as_seen(item)

    def _delete_as_seen(self, item: dict[str, Any]) -> None:
        """Deletes an item by its key as it stands, unless another request has reserved it since."""
        condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(lease_id)"}
        if "lease_id" in item:
            values = {":lease": item["lease_id"]}
            condition = {"ConditionExpression": _HELD, "ExpressionAttributeValues": values}
        try:
            self._client.delete_item(
                TableName=self._table, Key={name: item[name] for name in ("session_id", "turn")}, **condition
            )
        except SDK_ERRORS as error:
            if error_code(error) != _CONDITION:
                raise translated(error) from error

    def _page(self, query: dict[str, Any]) -> Any:
        page = self._client.query(TableName=self._table, **query)
        if "Items" not in page:  # a broken body is parsed as an empty one
            raise ResponseParserError("the answer holds no items")
        return page

    def _read(self, call: Callable[[], Any], deadline: Deadline) -> Any:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return call()
            except SDK_ERRORS as error:
                ours = translated(error)
                last = attempt == _ATTEMPTS or not isinstance(ours, StorageUnavailableError)
                if last or not pause(attempt, _FIRST_PAUSE, deadline):
                    raise ours from error
        raise StorageUnavailableError

    def _is_saved(self, key: dict[str, Any], wanted: dict[str, Any]) -> bool:
        try:
            found = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item", {})
        except SDK_ERRORS:
            return False
        return all(found.get(name) == value for name, value in wanted.items())


def _key(key: str, turn: int) -> dict[str, Any]:
    return {"session_id": {"S": key}, "turn": {"N": str(turn)}}


def translated(error: Exception) -> AgentError:
    """Our error for what the SDK raised."""
    if is_misconfigured(error):
        return MisconfiguredError(detail=f"{error} (check TABLE_NAME and the function's permissions)")
    return StorageUnavailableError(detail=str(error))
