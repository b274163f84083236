"""The session table of the machine-local stack: made in moto, read for display, kept in a file if asked."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, ParamValidationError

from local.problem import ProblemError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Item = dict[str, Any]
"""A stored turn in DynamoDB's own JSON."""


def create_table(client: "DynamoDBClient", name: str) -> None:
    """A table of the shape that the stack gives it: keys, and the index of what waits."""
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "session_id", "KeyType": "HASH"}, {"AttributeName": "turn", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "session_id", "AttributeType": "S"},
            {"AttributeName": "turn", "AttributeType": "N"},
            {"AttributeName": "waiting", "AttributeType": "S"},
            {"AttributeName": "waiting_since", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "waiting",
                "KeySchema": [
                    {"AttributeName": "waiting", "KeyType": "HASH"},
                    {"AttributeName": "waiting_since", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )


@dataclass(frozen=True)
class Row:
    """One stored turn; `size` counts the bytes of its item as it is sent, `created_at` is ISO 8601,
    `expires_at` in epoch seconds."""

    session_id: str
    turn: int
    status: str
    question: str
    size: int
    created_at: str
    expires_at: int


class SessionTable:
    """The table of that name, made at once."""

    def __init__(self, client: "DynamoDBClient", name: str) -> None:
        self._client = client
        self._name = name
        create_table(client, name)
        client.update_time_to_live(
            TableName=name, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"}
        )

    def rows(self) -> list[Row]:
        """All stored turns, oldest first."""
        return sorted((row_of(item) for item in self.everything()), key=lambda row: (row.created_at, row.turn))

    def items(self, session_id: str) -> list[Item]:
        """The items of a session, oldest turn first."""
        return stored_items(self._client, self._name, session_id)

    def put(self, item: Item) -> None:
        """Put an item in, whatever stands there."""
        self._client.put_item(TableName=self._name, Item=item)

    def forget(self, session_id: str) -> None:
        """Delete all turns of a directly invoked session."""
        for row in self.rows():
            if row.session_id == session_id:
                key = {"session_id": {"S": session_id}, "turn": {"N": str(row.turn)}}
                self._client.delete_item(TableName=self._name, Key=key)

    def save(self, path: Path) -> None:
        """Write all items to a file, whole or not at all; only its owner can read it."""
        text = json.dumps({"sessions": self.everything()}, ensure_ascii=False, indent=1)
        try:
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(path)
        except OSError as error:
            raise ProblemError(f"The sessions can't be kept in {path}: {error.strerror}.") from error

    def load(self, path: Path) -> None:
        """Put back what `save` wrote; a file that isn't there yet holds nothing."""
        for item in read_kept(path):
            try:
                self._client.put_item(TableName=self._name, Item=item)
            except (ClientError, ParamValidationError) as error:
                raise _not_kept_here(path) from error

    def everything(self) -> list[Item]:
        """The items of all sessions, in no order."""
        pages = self._client.get_paginator("scan").paginate(TableName=self._name)
        return [item for page in pages for item in page["Items"]]


def stored_items(client: "DynamoDBClient", name: str, session_id: str) -> list[Item]:
    """The items of a session in the table of that name, oldest turn first. Raises what the client raises."""
    pages = client.get_paginator("query").paginate(
        TableName=name,
        KeyConditionExpression="session_id = :session",
        ExpressionAttributeValues={":session": {"S": session_id}},
        ConsistentRead=True,
    )
    return [item for page in pages for item in page["Items"]]


def read_kept(path: Path) -> list[Item]:
    """The items in a file that `save` wrote; none where there is no file. Raises ProblemError for any other file."""
    if not path.exists():
        return []
    try:
        items: list[Item] = json.loads(path.read_text(encoding="utf-8"))["sessions"]
        for item in items:
            row_of(item)
    except OSError as error:
        raise ProblemError(f"The sessions in {path} can't be read: {error.strerror}.") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _not_kept_here(path) from error
    return items


def _not_kept_here(path: Path) -> ProblemError:
    return ProblemError(f"{path} holds no sessions kept by this command: delete it or name another.")


def row_of(item: Mapping[str, Mapping[str, str]]) -> Row:
    """What is shown of a stored turn."""

    def value(name: str, default: str) -> str:
        return next(iter(item.get(name, {}).values()), default)

    return Row(
        session_id=value("session_id", ""),
        turn=int(value("turn", "0")),
        status=value("status", ""),
        question=value("question", ""),
        size=len(json.dumps(item, ensure_ascii=False).encode()),
        created_at=value("created_at", ""),
        expires_at=int(value("expires_at", "0")),
    )
