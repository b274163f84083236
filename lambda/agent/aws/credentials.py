"""Who we are: the environment's keys, a container's (Lambda's SnapStart), else what botocore finds on a laptop.

Rules and order are botocore's (credentials.py, utils.py). Nothing is read before the first call, so that no snapshot holds keys.
"""

import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from agent.aws.endpoints import endpoint_at
from agent.aws.errors import CallError
from agent.aws.signing import Credentials
from agent.aws.transport import Transport
from agent.deadline import Deadline
from agent.errors import MisconfiguredError

_CONTAINERS_OWN = "http://169.254.170.2"  # where a relative URI is
_CONTAINERS = re.compile(
    r"169\.254\.170\.(2|23)|fd00:ec2::23|localhost|::1|127\.[0-9.]+"
)  # keys may be asked for without TLS
_ATTEMPTS, _SECONDS, _PAUSE = 3, 2.0, 1.0
_REFRESHED_BEFORE = 15 * 60  # seconds before they end, from when on new ones are asked for
_NEEDED_BEFORE = 10 * 60  # and from when on the old ones are used no longer


class _Answer(msgspec.Struct, frozen=True):
    access_key: str = msgspec.field(name="AccessKeyId")
    secret_key: str = msgspec.field(name="SecretAccessKey")
    token: str = msgspec.field(name="Token")
    ends: datetime = msgspec.field(name="Expiration")


class CredentialSource:
    """The credentials for each call."""

    def __init__(
        self, environment: Mapping[str, str], transport: Transport, *, now: Callable[[], float] = time.time
    ) -> None:
        self._environment, self._transport, self._now = environment, transport, now
        self._container = (Credentials("", ""), 0.0)  # and when they end
        self._laptop: Callable[[], Credentials] | None = None

    def current(self, deadline: Deadline) -> Credentials:
        """The credentials for a call now. Raises MisconfiguredError where there are none."""
        environment = self._environment
        access, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
        if access and secret:
            return Credentials(access, secret, environment.get("AWS_SESSION_TOKEN", ""))
        if access:
            raise MisconfiguredError(detail="AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not.")
        relative = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
        url = f"{_CONTAINERS_OWN}{relative}" if relative else environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        if url:
            return self._of_container(url, deadline)
        self._laptop = self._laptop or _resolved()
        return self._laptop()

    def _of_container(self, url: str, deadline: Deadline) -> Credentials:
        credentials, ends = self._container
        for attempt in range(1, _ATTEMPTS + 1 if ends - self._now() <= _REFRESHED_BEFORE else 1):
            try:
                self._container = self._fetched(url, deadline.within(_SECONDS))
                return self._container[0]
            except (CallError, ValueError, OSError) as error:
                if ends - self._now() > _NEEDED_BEFORE:
                    break
                if attempt == _ATTEMPTS or not deadline.pause(attempt, _PAUSE):
                    raise MisconfiguredError(detail=f"the container's credentials can't be had: {error}") from error
        return credentials

    def _fetched(self, url: str, deadline: Deadline) -> tuple[Credentials, float]:
        endpoint = endpoint_at(url)
        if endpoint.scheme != "https" and not _CONTAINERS.fullmatch(endpoint.host):
            raise MisconfiguredError(detail=f"A container's credentials are not asked of {endpoint.host} without TLS.")
        file, token = (self._environment.get(f"AWS_CONTAINER_AUTHORIZATION_TOKEN{end}", "") for end in ("_FILE", ""))
        token = Path(file).read_text(encoding="utf-8") if file else token
        if "\r" in token or "\n" in token:
            raise MisconfiguredError(detail="The container's authorization token holds a line break.")
        headers = [("Accept", "application/json"), ("Authorization", token)]
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        sent = headers if token else headers[:1]
        response = self._transport.send(endpoint, "GET", target, sent, b"", deadline)
        body = response.body()
        if response.status != 200:
            raise ValueError(f"status {response.status}")
        answer = msgspec.json.decode(body, type=_Answer)
        return Credentials(answer.access_key, answer.secret_key, answer.token), answer.ends.timestamp()


def _resolved() -> Callable[[], Credentials]:
    """What botocore finds: profiles, SSO, roles. Loaded on laptops alone, since that takes longer than a whole turn."""
    try:
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    except ImportError as error:
        raise MisconfiguredError(detail=f"AWS_ACCESS_KEY_ID is not set. {error}.") from error

    def read() -> Credentials:
        try:
            found = session.get_credentials()
            keys = found.get_frozen_credentials() if found else None
        except BotoCoreError as error:
            raise MisconfiguredError(detail=f"the AWS credentials can't be had: {error}") from error
        if not keys or not keys.access_key or not keys.secret_key:
            raise MisconfiguredError(
                detail="No AWS credentials are found: `aws configure` or `aws sso login` makes some."
            )
        return Credentials(keys.access_key, keys.secret_key, keys.token or "")

    session = Session()
    return read
