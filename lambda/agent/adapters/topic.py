"""An SNS topic that is told of what waits for a person."""

import json
from collections.abc import Sequence
from typing import Any

from agent.aws.client import Client
from agent.aws.errors import CallError
from agent.deadline import Deadline
from agent.errors import StorageUnavailableError

_LARGEST = 262_144  # bytes of a message: "Amazon SNS endpoints and quotas" in the AWS General Reference
_TOLD = ("approval_id", "tool", "expires_at")


class SNSTopic:
    """The Announcer port. What the tools would be called with is told only where `with_input` says so."""

    def __init__(self, client: Client, arn: str, *, with_input: bool) -> None:
        self._client = client
        self._arn = arn
        self._names = (*_TOLD, "input") if with_input else _TOLD

    def announce(self, session_id: str, caller: str, approvals: Sequence[dict[str, Any]], deadline: Deadline) -> None:
        """One attempt: whoever was not told finds it by GET /approvals."""
        text = _message(session_id, caller, approvals, self._names)
        if len(text.encode()) > _LARGEST:
            text = _message(session_id, caller, approvals, _TOLD)
        try:
            self._client.query("Publish", {"TopicArn": self._arn, "Message": text}, deadline)
        except CallError as error:
            raise StorageUnavailableError(detail=f"the topic {self._arn} could not be told: {error}") from error


def _message(session_id: str, caller: str, approvals: Sequence[dict[str, Any]], names: Sequence[str]) -> str:
    told = [{name: each[name] for name in names} for each in approvals]
    return json.dumps({"session_id": session_id, "caller": caller, "approvals": told}, ensure_ascii=False)
