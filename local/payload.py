"""The event that an HTTP API makes of a request, and the HTTP response it makes of the function's answer (payload 2.0).

Rules: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
"""

import base64
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from local.routes import Route

_TEXT = re.compile(r"text/|application/(.+\+)?(json|xml|javascript)\b", re.IGNORECASE)


@dataclass(frozen=True)
class HttpRequest:
    """A request as it came: `target` is path and query as sent, `headers` in order, names in any case."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    source_ip: str


@dataclass(frozen=True)
class HttpResponse:
    """What goes back to the client."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    more: Iterator[bytes] | None = None
    """What comes behind the body, while it comes; it raises ConnectionError where the rest is lost."""


def build_event(request: HttpRequest, route: Route, parameters: Mapping[str, str], request_id: str) -> dict[str, Any]:
    """The payload-2.0 event; absent parts are left out as API Gateway leaves them out."""
    url = urlsplit(request.target)
    path = unquote(url.path)
    headers = _joined((name.lower(), value) for name, value in request.headers if name.lower() != "cookie")
    cookies = [value for name, value in request.headers if name.lower() == "cookie"]
    as_text = bool(_TEXT.match(headers.get("content-type", "")))
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route.key,
        "rawPath": path,
        "rawQueryString": url.query,
        "headers": headers,
        "requestContext": _request_context(request, route, path, headers, request_id),
        "isBase64Encoded": bool(request.body) and not as_text,
    }
    if cookies:
        event["cookies"] = [cookie.strip() for line in cookies for cookie in line.split(";")]
    if url.query:
        event["queryStringParameters"] = _joined(parse_qsl(url.query, keep_blank_values=True))
    if parameters:
        event["pathParameters"] = dict(parameters)
    if request.body:
        event["body"] = request.body.decode("utf-8", "replace") if as_text else base64.b64encode(request.body).decode()
    return event


def build_response(result: Any) -> HttpResponse:
    """The response to a function's result: what has no statusCode becomes the body of a 200.

    A result that is no proxy response (a body that is no text, a status that is no number) is a 500.
    """
    if not isinstance(result, Mapping) or "statusCode" not in result:
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        return HttpResponse(200, (("Content-Type", "application/json"),), text.encode())
    status, body = result["statusCode"], result.get("body") or ""
    if not isinstance(body, str) or not re.fullmatch("[1-5][0-9][0-9]", str(status)):
        return message(500, "Internal Server Error")
    headers = [(name, str(value)) for name, value in (result.get("headers") or {}).items()]
    if not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", "text/plain;charset=UTF-8"))
    headers += [("Set-Cookie", cookie) for cookie in result.get("cookies") or ()]
    content = base64.b64decode(body) if result.get("isBase64Encoded") else body.encode()
    return HttpResponse(int(status), tuple(headers), content)


def message(status: int, text: str) -> HttpResponse:
    """An answer of the gateway's own."""
    return HttpResponse(status, (("Content-Type", "application/json"),), json.dumps({"message": text}).encode())


def _request_context(
    request: HttpRequest, route: Route, path: str, headers: Mapping[str, str], request_id: str
) -> dict[str, Any]:
    now = time.time()
    return {
        "accountId": "123456789012",
        "apiId": "local",
        "domainName": headers.get("host", "localhost"),
        "domainPrefix": "local",
        "http": {
            "method": request.method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": request.source_ip,
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": request_id,
        "routeKey": route.key,
        "stage": "$default",
        "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
        "timeEpoch": int(now * 1000),
    }


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Repeated names have their values joined by commas."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined
