"""Who calls, as the gateway's authorizer says, and the key that keeps each caller to its own sessions."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from agent.errors import MisconfiguredError

ANONYMOUS = "anonymous"
DIRECT = ""  # whoever may invoke the function itself may name any session


def caller_of(context: Mapping[str, Any], identity: str) -> str:
    """The hash of the caller of an HTTP event, from its `requestContext`, or ANONYMOUS where nothing authorizes.

    In this order: a JWT's issuer and subject; a Cognito identity; a Lambda authorizer's principal; an IAM user; an assumed role,
    with its session name unless `identity` (CALLER_IDENTITY) is `role`. Raises MisconfiguredError where an authorizer stands
    before the function, but doesn't tell who calls: all callers would share their sessions.
    """
    authorizer = _mapping(context.get("authorizer"))
    jwt = _mapping(_mapping(authorizer.get("jwt")).get("claims")) or _mapping(authorizer.get("claims"))
    iam = _mapping(authorizer.get("iam"))
    rest = _mapping(context.get("identity"))
    cognito = _text(_mapping(iam.get("cognitoIdentity")), "identityId") or _text(rest, "cognitoIdentityId")
    principal = _text(authorizer, "principalId") or _text(_mapping(authorizer.get("lambda")), "principalId")
    arn = _text(iam, "userArn") or _text(rest, "userArn")
    if _text(jwt, "sub"):
        return _hash("jwt", _text(jwt, "iss"), _text(jwt, "sub"))
    if cognito:
        return _hash("cognito", cognito)
    if principal:
        return _hash("principal", principal)
    if arn:
        return _hash("iam", _without_session(arn) if identity == "role" else arn)
    if authorizer:
        raise MisconfiguredError(
            detail="the authorizer names no caller: it must give sub, principalId or an IAM identity."
        )
    return ANONYMOUS


def session_key(caller: str, session_id: str) -> str:
    """The partition key of a session; no session id holds `#`, so that none can name another caller's."""
    return session_id if caller == DIRECT else f"{caller}#{session_id}"


def new_session_id(caller: str, request_id: str) -> str:
    """A session id for a request without one; the same for a retry of that request, so that it finds its turn."""
    return _hash("session", caller, request_id)


def _hash(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _without_session(arn: str) -> str:
    # arn:aws:sts::account:assumed-role/role/session
    head, separator, tail = arn.partition(":assumed-role/")
    return f"{head}{separator}{tail.split('/')[0]}" if separator else arn


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""
