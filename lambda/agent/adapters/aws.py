"""What both AWS adapters share: one botocore session, clients that never retry by themselves, and our own bounded retries."""

import random
import time
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ReadTimeoutError,
)
from botocore.handlers import add_retry_headers
from botocore.parsers import ResponseParserError

from agent.deadline import Deadline
from agent.errors import MisconfiguredError

# Refused for what we are or ask, so that only a change of settings or permissions helps.
MISCONFIGURED_CODES = frozenset(
    {
        "AccessDeniedException",
        "AccessDenied",
        "UnauthorizedException",
        "ResourceNotFoundException",
        "UnrecognizedClientException",
        "InvalidSignatureException",
        "IncompleteSignature",
        "MissingAuthenticationTokenException",
        "ExpiredTokenException",
        "OptInRequired",
    }
)
SDK_ERRORS = (ClientError, BotoCoreError, ResponseParserError)
# Raised before the request was sent, or when a connection that had been idle turned out to be closed.
CONNECTION_ERRORS = (ConnectTimeoutError, EndpointConnectionError, ConnectionClosedError)
TIMEOUTS = (ReadTimeoutError,)
SETUP_ERRORS = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError, NoRegionError)


def new_session() -> botocore.session.Session:
    """The one session that the clients are made from."""
    return botocore.session.get_session()


def new_client(
    session: botocore.session.Session, service: str, *, connect_timeout: float, read_timeout: float, connections: int
) -> Any:
    """A low-level client with one attempt a call; time-outs are in seconds. Raises MisconfiguredError without a region."""
    config = Config(
        connect_timeout=connect_timeout,
        read_timeout=read_timeout,
        max_pool_connections=connections,
        retries={"mode": "standard", "total_max_attempts": 1},
        # the service checks what is sent, and the core sends nothing else; checking here costs a tenth of a warm turn
        parameter_validation=False,
        user_agent="agent",
    )
    try:
        client = session.create_client(service, config=config)
    except BotoCoreError as error:
        raise MisconfiguredError(detail=f"the {service} client can't be made: {error}") from error
    client.meta.events.unregister(
        "request-created", add_retry_headers
    )  # they tell of retries that botocore doesn't make
    return client


def error_code(error: Exception) -> str:
    """The service's code of a client error, else blank."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def status_code(error: Exception) -> int:
    """The HTTP status of a client error, else 0."""
    if not isinstance(error, ClientError):
        return 0
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def is_misconfigured(error: Exception) -> bool:
    """Whether no retry helps, only a change of settings, permissions or credentials."""
    return isinstance(error, SETUP_ERRORS) or error_code(error) in MISCONFIGURED_CODES


def pause(attempt: int, first: float, deadline: Deadline) -> bool:
    """Waits before attempt 1, 2, ... with jitter, doubling; False, without waiting, where the deadline comes first."""
    seconds = first * 2 ** (attempt - 1) * random.uniform(0.5, 1)
    if deadline.left() <= seconds:
        return False
    time.sleep(seconds)
    return True
