"""Lambda events in: HTTP API 2.0, REST 1.0 and function URLs, told from direct invocations, and their bodies."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from agent.edge.requests import HINT
from agent.errors import InvalidRequestError, PayloadTooLargeError

_MAX_BODY_BYTES = 1_000_000
_NO_CLOCK = 1e15  # milliseconds; no gateway's clock is that far from the epoch


class HttpRequest(msgspec.Struct, frozen=True):
    """An HTTP event of any kind. `started` is the gateway's clock (epoch seconds), None where the event doesn't tell."""

    method: str
    path: str
    stage: str
    route: str  # as the gateway matched it, in its own writing; may be blank
    headers: Mapping[str, str]  # names in lower case
    query: Mapping[str, str]
    body: object
    is_base64: bool
    context: Mapping[str, Any]
    is_function_url: bool
    is_rest: bool  # payload 1.0
    started: float | None


def http_request(event: object) -> HttpRequest | None:
    """The HTTP request of an event, or None for a direct invocation."""
    if not isinstance(event, dict):
        return None
    context = event.get("requestContext")
    context = context if isinstance(context, dict) else {}
    http = context.get("http")
    if isinstance(http, dict):
        method, path = http.get("method"), event.get("rawPath") or http.get("path")
        route, started = event.get("routeKey"), context.get("timeEpoch")
    elif isinstance(event.get("httpMethod"), str):
        method, path, route = (
            event["httpMethod"],
            event.get("path"),
            f"{event['httpMethod']} {_text(event.get('resource'))}",
        )
        started = context.get("requestTimeEpoch")
    else:
        return None
    headers, query = (_texts(event.get(name)) for name in ("headers", "queryStringParameters"))
    return HttpRequest(
        method=_text(method).upper(),
        path=_text(path) or "/",
        stage=_text(context.get("stage")),
        route=_text(route),
        headers={name.lower(): value for name, value in headers.items()},
        query=query,
        body=event.get("body"),
        is_base64=event.get("isBase64Encoded") is True,
        context=context,
        is_function_url=".lambda-url." in _text(context.get("domainName")),
        is_rest=not isinstance(http, dict),
        started=started / 1000 if isinstance(started, int | float) and abs(started) < _NO_CLOCK else None,
    )


def _texts(value: object) -> dict[str, str]:
    return {str(n): v for n, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def seconds_left(request: HttpRequest, left: float, http_seconds: float, now: float) -> float:
    """What a request has of the function's seconds that are left: of API Gateway's patience, if that ends earlier.

    The gateway's clock starts before ours; one that can't be right (a sample event's) counts as now (epoch seconds).
    """
    started = request.started
    if started is None or not now - http_seconds <= started <= now:
        started = now
    return min(left, started + http_seconds - now)


def is_warm_up(event: object) -> bool:
    """Whether the event only keeps the function warm; beside a question or a yes, its keys are unknown ones."""
    if not isinstance(event, dict) or {"question", "approvals"} & event.keys():
        return False
    return event.get("source") == "aws.events" or event.get("warmer") is True


def body_of(request: HttpRequest) -> object:
    """The JSON value of the body. Raises InvalidRequestError or PayloadTooLargeError."""
    if not isinstance(request.body, str):
        raise InvalidRequestError(f"The request has no JSON body. {HINT}")
    data = request.body.encode("utf-8", "surrogatepass")
    if len(data) > _MAX_BODY_BYTES * (4 / 3 if request.is_base64 else 1) + 4:
        raise PayloadTooLargeError("The body is larger than 1 MB.")
    try:
        if request.is_base64:
            data = base64.b64decode(data, validate=True)
        if len(data) > _MAX_BODY_BYTES:
            raise PayloadTooLargeError("The body is larger than 1 MB.")
        return json.loads(
            data.decode("utf-8", "surrogatepass" if not request.is_base64 else "strict"), parse_constant=_refuse
        )
    except (binascii.Error, ValueError, RecursionError):
        raise InvalidRequestError(f"The body is not JSON in UTF-8. {HINT}") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
