"""Lambda events in, responses out: direct invocations, HTTP API 2.0, REST 1.0 and function URLs.

Here is the one table from an error's code to its HTTP status.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

import msgspec

from agent.errors import AgentError, InvalidRequestError, MethodNotAllowedError, NotFoundError, PayloadTooLargeError
from agent.requests import HINT, checked_id

STATUS = {
    "invalid_request": 400,
    "not_found": 404,
    "method_not_allowed": 405,
    "session_busy": 409,
    "payload_too_large": 413,
    "model_throttled": 429,
    "internal": 500,
    "misconfigured": 500,
    "model_error": 502,
    "model_unavailable": 503,
    "storage_unavailable": 503,
    "out_of_time": 504,
}
RETURNED = (
    "invalid_request",
    "payload_too_large",
)  # to direct invocations, since no retry can mend them; others are raised
ROUTES = {
    "POST /chat": "chat",
    "GET /sessions/{session_id}": "read",
    "DELETE /sessions/{session_id}": "forget",
    "POST /sessions/{session_id}/approvals": "approve",
    "GET /health": "health",
}
_MAX_BODY_BYTES = 1_000_000
_NO_CLOCK = 1e15  # milliseconds; no gateway's clock is that far from the epoch


class HttpRequest(msgspec.Struct, frozen=True):
    """An HTTP event of any kind. `started` is the gateway's clock (epoch seconds), None where the event doesn't tell."""

    method: str
    path: str
    stage: str
    route: str  # as the gateway matched it, in its own writing; may be blank
    headers: Mapping[str, str]  # names in lower case
    body: object
    is_base64: bool
    context: Mapping[str, Any]
    is_function_url: bool
    started: float | None


class Matched(msgspec.Struct, frozen=True):
    """What a request asks for: one of the actions of ROUTES or `preflight`, and the session id of its path."""

    action: str
    session_id: str = ""


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
    headers = event.get("headers") if isinstance(event.get("headers"), dict) else {}
    return HttpRequest(
        method=_text(method).upper(),
        path=_text(path) or "/",
        stage=_text(context.get("stage")),
        route=_text(route),
        headers={str(name).lower(): value for name, value in (headers or {}).items() if isinstance(value, str)},
        body=event.get("body"),
        is_base64=event.get("isBase64Encoded") is True,
        context=context,
        is_function_url=".lambda-url." in _text(context.get("domainName")),
        started=started / 1000 if isinstance(started, int | float) and abs(started) < _NO_CLOCK else None,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def seconds_left(request: HttpRequest, left: float, http_seconds: float, now: float) -> float:
    """What a request has of the function's seconds that are left: of API Gateway's patience, if that ends earlier.

    The gateway's clock starts before ours; one that can't be right (a sample event's) counts as now (epoch seconds).
    """
    if request.is_function_url:
        return left
    started = request.started
    if started is None or not now - http_seconds <= started <= now:
        started = now
    return min(left, started + http_seconds - now)


def is_warm_up(event: object) -> bool:
    """Whether the event only keeps the function warm."""
    return isinstance(event, dict) and (event.get("source") == "aws.events" or event.get("warmer") is True)


def match(request: HttpRequest) -> Matched:
    """What the request asks for. Raises NotFoundError or MethodNotAllowedError."""
    segments = [unquote(part) for part in request.path.strip("/").split("/")]
    found = _routes_at(segments)
    if not found and segments[0] == request.stage:  # an HTTP API puts the stage first
        found = _routes_at(segments[1:])
    if not found:  # a custom domain may put its own path first; the gateway's route tells what is behind it
        size = request.route.count("/")
        found = {k: v for k, v in _routes_at(segments[-size:] if size else []).items() if k == request.route}
    if not found:
        raise NotFoundError("There is no such route.")
    methods = tuple(key.split(" ")[0] for key in found)
    if request.method == "OPTIONS":
        return Matched("preflight")
    key = next((key for key in found if key.startswith(request.method + " ")), "")
    if not key:
        raise MethodNotAllowedError(f"This route takes {' and '.join(methods)}.", allowed=(*methods, "OPTIONS"))
    session_id = found[key].get("{session_id}", "")
    if session_id:
        checked_id(session_id, "session_id")
    return Matched(ROUTES[key], session_id)


def _routes_at(segments: list[str]) -> dict[str, dict[str, str]]:
    """The routes whose path has these segments, each with the values of its parameters."""
    found = {}
    for key in ROUTES:
        pattern = key.partition(" /")[2].split("/")
        if len(pattern) == len(segments) and all(
            p in (s, "{session_id}") for p, s in zip(pattern, segments, strict=True)
        ):
            found[key] = {p: s for p, s in zip(pattern, segments, strict=True) if p == "{session_id}"}
    return found


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


def error_body(error: AgentError, request_id: str) -> dict[str, Any]:
    """What a failure answers; the request id is the invocation's."""
    return {"error": {"code": error.code, "message": error.message}, "request_id": request_id}


def http_response(
    request: HttpRequest,
    status: int,
    body: Mapping[str, Any] | None,
    origins: tuple[str, ...],
    more: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """A response that every gateway takes; `more` are further headers, `origins` may read it from a browser."""
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff", **_cors(request, origins), **more}
    text = ""
    if body is not None:
        headers["content-type"] = "application/json; charset=utf-8"
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return {"statusCode": status, "headers": headers, "body": text, "isBase64Encoded": False}


def error_headers(error: AgentError) -> dict[str, str]:
    """The headers that go with an error."""
    if isinstance(error, MethodNotAllowedError):
        return {"allow": ", ".join(error.allowed)}
    return {"retry-after": str(error.retry_after)} if error.retry_after else {}


def _cors(request: HttpRequest, origins: tuple[str, ...]) -> dict[str, str]:
    origin = request.headers.get("origin", "")
    if not origins or not (origin in origins or "*" in origins):
        return {"vary": "origin"} if origins else {}
    headers = {"access-control-allow-origin": "*" if "*" in origins else origin, "vary": "origin"}
    if request.method == "OPTIONS":
        headers["access-control-allow-methods"] = "GET, POST, DELETE, OPTIONS"
        headers["access-control-allow-headers"] = "authorization, content-type, x-amz-date, x-amz-security-token"
        headers["access-control-max-age"] = "600"
    else:
        headers["access-control-expose-headers"] = "retry-after"
    return headers
