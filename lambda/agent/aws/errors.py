"""What can become of a call: refused by the service, not answered, or answered with what can't be read."""

import re
from collections.abc import Mapping
from typing import Any

# Refused for what we are or ask, so that only a change of settings, permissions or credentials helps.
_MISCONFIGURED = re.compile(
    "AccessDenied(Exception)?|UnauthorizedException|ResourceNotFoundException|OptInRequired"
    "|UnrecognizedClientException|InvalidClientTokenId|InvalidSignatureException|SignatureDoesNotMatch|IncompleteSignature"
    "|MissingAuthenticationToken(Exception)?|ExpiredToken(Exception)?|RequestExpired"
)


class CallError(Exception):
    """A call that failed. Nothing was sent again: whether it may have been made is for the adapter to judge."""


class ServiceError(CallError):
    """The service refused. `status` is HTTP's, `code` the service's own; `headers` have names in lower case.

    `answer` is what JSON its body holds: DynamoDB tells the item that a condition failed on.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        request_id: str = "",
        headers: Mapping[str, str] | None = None,
        answer: Mapping[str, Any] | None = None,
    ) -> None:
        self.status, self.code, self.message, self.request_id = status, code, message, request_id
        self.headers, self.answer = headers or {}, answer or {}
        super().__init__(f"{code} ({status}): {message}" + (f" [request {request_id}]" if request_id else ""))

    @property
    def is_misconfigured(self) -> bool:
        """Whether no retry helps, only a change of settings, permissions or credentials."""
        return _MISCONFIGURED.fullmatch(self.code) is not None


class ConnectionFailedError(CallError):
    """No connection could be made, or it was closed before the answer was whole."""


class TimedOutError(CallError):
    """The time for the call ended before it did."""


class UnreadableError(CallError):
    """An answer came that is none, or was damaged on its way."""
