"""What the page shows and asks: the function of `serve`, or a deployed one. Both are asked directly.

Imports the core, which is no package: `local.function.importable` makes it one that can be imported.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from agent.adapters.dynamodb.index import DynamoDBIndex
from agent.adapters.dynamodb.items import from_item
from agent.adapters.dynamodb.store import DynamoDBStore
from agent.aws.client import AWS
from agent.deadline import Deadline
from agent.ports import StoredTurn
from agent.sessions.inbox import Inbox
from agent.settings import Settings
from infra.config import Config
from local.bedrock.server import RecordedRequest
from local.stack import Stack

_SHOWN = 1000  # turns of a session
_SECONDS = 15.0  # for a person to wait for a table
_PRICES = ("input", "output", "cache_read", "cache_write")


class Backend(Protocol):
    """A function and its table."""

    def about(self) -> dict[str, Any]:
        """What the page tells of it: name, banner, settings in force, prices, and what it can show."""
        ...

    def invoke(self, event: Any, on_chunk: Callable[[bytes], object]) -> tuple[Any, bool]:
        """A direct invocation: its result and whether it succeeded; of an answer that streams the chunks as they come."""
        ...

    @property
    def table(self) -> "Table":
        """Its session table."""
        ...

    def turns(self) -> list[StoredTurn]:
        """All turns that are kept, where that can be told; else none."""
        ...

    def requests(self, session_id: str) -> Mapping[int, list[Any]]:
        """What the model was sent in each turn of a session, where that is known."""
        ...


class Table:
    """The session table, by the function's own means of reading it; the environment says where it is."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        client, name = AWS(environment).client("dynamodb"), environment["TABLE_NAME"]
        self._store = DynamoDBStore(client, name)
        self._inbox = Inbox(DynamoDBIndex(client, name), time.time)

    def read(self, key: str) -> list[StoredTurn]:
        """The turns of a session, oldest first."""
        return self._store.load(key, _SHOWN, time.time(), Deadline.after(_SECONDS), whole=True)[::-1]

    def forget(self, key: str) -> None:
        """Deletes a session. Raises SessionBusyError while a turn runs."""
        self._store.forget(key, time.time(), Deadline.after(_SECONDS))

    def waiting(self) -> list[dict[str, Any]]:
        """Everything that waits for a yes, whoever asked."""
        found, after = [], ""
        while True:
            page = self._inbox.page("", after)
            found += page["approvals"]
            if not (after := page.get("next", "")):
                return found


def about(name: str, banner: str, environment: Mapping[str, str], config: Config, *, is_local: bool) -> dict[str, Any]:
    """What the page tells of a function with this environment."""
    known = [each.upper() for each in Settings.__struct_fields__]
    return {
        "name": name,
        "banner": banner,
        "settings": {each: environment[each] for each in known if environment.get(each)},
        "prices": {each: getattr(config, f"price_{each}") for each in _PRICES},
        "can_list": is_local,
        "sees_requests": is_local,
    }


class Served:
    """The function of `serve`: its table is in memory, and the stand-in for Bedrock remembers what it was sent."""

    def __init__(self, stack: Stack, environment: Mapping[str, str], config: Config) -> None:
        self._stack, self._environment, self._config = stack, environment, config

    def about(self) -> dict[str, Any]:
        return about(self._config.name, self._stack.banner, self._environment, self._config, is_local=True)

    def invoke(self, event: Any, on_chunk: Callable[[bytes], object]) -> tuple[Any, bool]:
        return self._stack.invoke(event, on_chunk)

    @cached_property  # its connections are kept from one request of the page to the next
    def table(self) -> Table:
        return Table(self._environment)

    def turns(self) -> list[StoredTurn]:
        return [from_item(item) for item in self._stack.sessions.everything()]

    def requests(self, session_id: str) -> Mapping[int, list[Any]]:
        return by_turn(self._stack.requests, session_id)


def by_turn(requests: Sequence[RecordedRequest], session_id: str) -> dict[int, list[Any]]:
    """The bodies that were sent for a session, by the turn that each says it belongs to."""
    found: dict[int, list[Any]] = {}
    for request in requests:
        told = request.body.get("requestMetadata") or {}
        if told.get("session") == session_id:
            found.setdefault(int(told.get("turn", 0)), []).append(request.body)
    return found


class Deployed:
    """A deployed function, with the caller's own credentials; `client` is boto3's of Lambda."""

    def __init__(self, client: Any, name: str, environment: Mapping[str, str], config: Config) -> None:
        self._client, self._name, self._config = client, name, config
        self._own = {**client.get_function_configuration(FunctionName=name)["Environment"]["Variables"]}
        self._environment = {**environment, "TABLE_NAME": self._own["TABLE_NAME"]}

    def about(self) -> dict[str, Any]:
        banner = f"{self._own.get('MODEL_ID', '')} answers, as {self._name} asks it, at your account's cost."
        return about(self._name, banner, self._own, self._config, is_local=False)

    def invoke(self, event: Any, on_chunk: Callable[[bytes], object]) -> tuple[Any, bool]:
        if self._own.get("STREAMING", "").lower() != "true":
            event = {name: value for name, value in event.items() if name != "stream"}
            answer = self._client.invoke(FunctionName=self._name, Payload=json.dumps(event))
            return json.load(answer["Payload"]), "FunctionError" not in answer
        answer = self._client.invoke_with_response_stream(FunctionName=self._name, Payload=json.dumps(event))
        came = []
        for part in answer["EventStream"]:
            if "PayloadChunk" in part:
                came.append(part["PayloadChunk"]["Payload"])
                if answer["ResponseStreamContentType"].startswith("text/event-stream"):
                    on_chunk(came[-1])
            elif "ErrorCode" in part.get("InvokeComplete", {}):
                told = part["InvokeComplete"]
                return {"errorType": told["ErrorCode"], "errorMessage": told.get("ErrorDetails", "")}, False
        whole = b"".join(came)
        return (json.loads(whole) if whole[:1] == b"{" else whole.decode()), True

    @cached_property  # its connections are kept from one request of the page to the next
    def table(self) -> Table:
        return Table(self._environment)

    def turns(self) -> list[StoredTurn]:
        return []

    def requests(self, session_id: str) -> Mapping[int, list[Any]]:
        return {}
