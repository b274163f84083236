"""HTTP events as the gateways send them: HTTP API (payload 2.0), REST API (payload 1.0), function URL."""

import json
from collections.abc import Callable, Mapping
from typing import Any

Maker = Callable[..., dict[str, Any]]


def http_api(
    method: str = "POST",
    path: str = "/chat",
    body: Any = None,
    *,
    stage: str = "$default",
    headers: Mapping[str, str] | None = None,
    route: str = "",
    **context: Any,
) -> dict[str, Any]:
    """Payload 2.0. A body that is no text is sent as JSON."""
    return {
        "version": "2.0",
        "routeKey": route or f"{method} {path}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json", **(headers or {})},
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "api",
            "domainName": "api.execute-api.us-east-1.amazonaws.com",
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"},
            "routeKey": route or f"{method} {path}",
            "stage": stage,
            **context,
        },
        **_body(body),
    }


def rest_api(
    method: str = "POST",
    path: str = "/chat",
    body: Any = None,
    *,
    stage: str = "prod",
    headers: Mapping[str, str] | None = None,
    resource: str = "",
    **context: Any,
) -> dict[str, Any]:
    """Payload 1.0."""
    return {
        "resource": resource or path,
        "path": path,
        "httpMethod": method,
        "headers": {"Content-Type": "application/json", **(headers or {})},
        "multiValueHeaders": {"Content-Type": ["application/json"]},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "api",
            "domainName": "api.execute-api.us-east-1.amazonaws.com",
            "httpMethod": method,
            "identity": {"cognitoIdentityId": None, "userArn": None, "sourceIp": "192.0.2.1"},
            "path": f"/{stage}{path}",
            "resourcePath": resource or path,
            "stage": stage,
            **context,
        },
        "body": None,
        "isBase64Encoded": False,
        **_body(body),
    }


def function_url(
    method: str = "POST",
    path: str = "/chat",
    body: Any = None,
    *,
    headers: Mapping[str, str] | None = None,
    **context: Any,
) -> dict[str, Any]:
    """A function URL's payload 2.0."""
    domain = {"domainName": "abc.lambda-url.us-east-1.on.aws"}
    return http_api(method, path, body, headers=headers, route="$default", **{**domain, **context})


MAKERS: tuple[Maker, ...] = (http_api, rest_api, function_url)


def _body(body: Any) -> dict[str, Any]:
    if body is None:
        return {}
    return {"body": body if isinstance(body, str) else json.dumps(body), "isBase64Encoded": False}


def error_code(response: dict[str, Any]) -> str:
    """The code of a failure's answer."""
    return str(json.loads(response["body"])["error"]["code"])


def checked(response: Any) -> dict[str, Any]:
    """The response, whose shape every gateway takes."""
    assert json.loads(json.dumps(response)) == response
    assert set(response) == {"statusCode", "headers", "body", "isBase64Encoded"}
    assert type(response["statusCode"]) is int
    assert type(response["body"]) is str
    assert response["isBase64Encoded"] is False
    assert all(type(name) is str and type(value) is str for name, value in response["headers"].items())
    if response["body"]:
        assert "charset=utf-8" in response["headers"]["content-type"].lower()
        json.loads(response["body"])
    return dict(response)


def events_of(body: bytes) -> list[tuple[str, Any]]:
    """The events of a stream, read to the letter: a name's line, a line of JSON, a blank line."""
    found = []
    for block in body.decode().split("\n\n")[:-1]:
        if block == ": ":
            continue
        name, data = block.split("\n")
        assert name.startswith("event: ")
        assert data.startswith("data: ")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found
