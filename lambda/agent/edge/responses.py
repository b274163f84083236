"""Responses out: the one table from an error's code to its HTTP status, bodies, and headers for browsers."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from agent.edge.events import HttpRequest
from agent.errors import AgentError, MethodNotAllowedError

STATUS = {
    "invalid_request": 400,
    "forbidden": 403,
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
# to direct invocations, since no retry can mend them; others are raised
RETURNED = ("invalid_request", "payload_too_large", "not_found")


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
    # a function URL puts its own headers beside ours, and browsers refuse two (aws-powertools/powertools-lambda-python#4163)
    if request.is_function_url:
        return {}
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
