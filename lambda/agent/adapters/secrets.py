"""Secrets in AWS Secrets Manager."""

import json
import time
from collections.abc import Callable
from typing import Any

from agent.aws.client import Client
from agent.aws.errors import CallError, ServiceError
from agent.deadline import Deadline
from agent.errors import MisconfiguredError, ModelUnavailableError, StorageUnavailableError

_KEPT = 5 * 60  # seconds, after which a key that was changed is the new one


class SecretsManager:
    """The SecretStore port."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def read(self, name: str, deadline: Deadline) -> str:
        """See SecretStore."""
        try:
            answer = self._client.call("GetSecretValue", {"SecretId": name}, deadline)
        except CallError as error:
            raise StorageUnavailableError(detail=f"the secret {name} can't be read: {error}") from error
        text = answer.get("SecretString")
        if not isinstance(text, str):
            raise MisconfiguredError(detail=f"the secret {name} holds no text")
        return text


class Secret:
    """A secret by its name or ARN, kept for five minutes, so that not every model call waits for it and costs one more."""

    def __init__(self, client: Any, name: str, clock: Callable[[], float] = time.time) -> None:
        self._client, self._name, self._clock = client, name, clock
        self._text, self._ends = "", 0.0

    def __call__(self, deadline: Deadline) -> str:
        """Its text; of a JSON object with one text, as the console makes it, that text.

        Raises MisconfiguredError where it is none or may not be read, ModelUnavailableError where the service fails.
        """
        # by wall clock, which also counts while Lambda freezes the process
        if self._clock() >= self._ends:
            self._text, self._ends = self._read(deadline), self._clock() + _KEPT
        return self._text

    def _read(self, deadline: Deadline) -> str:
        try:
            response = self._client.call("GetSecretValue", {"SecretId": self._name}, deadline)
        except CallError as error:
            detail = f"the secret {self._name} can't be read: {error}"
            if isinstance(error, ServiceError) and error.is_misconfigured:
                raise MisconfiguredError(detail=detail) from error
            raise ModelUnavailableError(detail=detail) from error
        text = response.get("SecretString")
        if not isinstance(text, str) or not text.strip():
            raise MisconfiguredError(detail=f"The secret {self._name} must hold a text.")
        try:
            value = json.loads(text)
        except ValueError:
            return text.strip()
        if not isinstance(value, dict):
            return text.strip()
        match list(value.values()):
            case [str(only)] if only.strip():
                return only.strip()
        raise MisconfiguredError(detail=f"The secret {self._name} holds JSON, which must be one name with one text.")
