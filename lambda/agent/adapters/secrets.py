"""Secrets in AWS Secrets Manager."""

import json
import time
from collections.abc import Callable

from agent.aws.client import Client
from agent.aws.errors import CallError, ServiceError
from agent.deadline import Deadline
from agent.errors import MisconfiguredError, ModelUnavailableError, StorageUnavailableError
from agent.ports import SecretStore

_KEPT = 5 * 60  # seconds, after which a key that was changed is the new one


class SecretsManager:
    """The SecretStore port. What was read counts for five minutes, so that not every use waits for it and costs a call more."""

    def __init__(self, client: Client, now: Callable[[], float] = time.time) -> None:
        self._client, self._now = client, now
        self._known: dict[str, tuple[str, float]] = {}

    def read(self, name: str, deadline: Deadline) -> str:
        """See SecretStore. Raises MisconfiguredError where it is no text or may not be read, else StorageUnavailableError."""
        text, read_at = self._known.get(name, ("", 0.0))
        # by wall clock, which also counts while Lambda freezes the process
        if not 0 <= self._now() - read_at < _KEPT:
            text = self._asked(name, deadline)
            self._known[name] = (text, self._now())
        return text

    def _asked(self, name: str, deadline: Deadline) -> str:
        try:
            text = self._client.call("GetSecretValue", {"SecretId": name}, deadline).get("SecretString")
        except CallError as error:
            ours = isinstance(error, ServiceError) and error.is_misconfigured
            failure = MisconfiguredError if ours else StorageUnavailableError
            raise failure(detail=f"the secret {name} can't be read: {error}") from error
        if not isinstance(text, str):
            raise MisconfiguredError(detail=f"the secret {name} holds no text")
        return text


class Secret:
    """The key of a model's provider, by the name or ARN of its secret."""

    def __init__(self, store: SecretStore, name: str) -> None:
        self._store, self._name = store, name

    def __call__(self, deadline: Deadline) -> str:
        """Its text; of a JSON object with one text, as the console makes it, that text.

        Raises MisconfiguredError where it is none or may not be read, ModelUnavailableError where the service fails.
        """
        try:
            text = self._store.read(self._name, deadline)
        except StorageUnavailableError as error:
            raise ModelUnavailableError(detail=error.detail) from error
        if not text.strip():
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
