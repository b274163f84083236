"""The gateway over real HTTP on loopback."""

import http.client
import json
import threading
from typing import Any

import pytest

from local.gateway import Gateway


def echo(event: dict[str, Any]) -> tuple[Any, bool]:
    return {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": json.dumps(event)}, True


def request(
    gateway: Gateway, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(gateway.url.removeprefix("http://"), timeout=10)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


def test_a_request_reaches_the_function_as_an_event() -> None:
    with Gateway(echo) as gateway:
        status, headers, body = request(
            gateway, "POST", "/chat?a=1", "質問".encode(), {"Content-Type": "application/json"}
        )
    event = json.loads(body)
    assert (status, headers["content-type"]) == (200, "application/json")
    assert (event["routeKey"], event["body"], event["queryStringParameters"]) == ("POST /chat", "質問", {"a": "1"})
    assert event["requestContext"]["http"]["sourceIp"] == "127.0.0.1"


def test_path_parameters_are_handed_over() -> None:
    with Gateway(echo) as gateway:
        _, _, body = request(gateway, "DELETE", "/sessions/a%3Ab")
    assert json.loads(body)["pathParameters"] == {"session_id": "a:b"}


def test_what_is_no_route_is_not_found() -> None:
    with Gateway(echo, routes=["POST /chat"]) as gateway:
        status, _, body = request(gateway, "GET", "/health")
    assert (status, json.loads(body)) == (404, {"message": "Not Found"})


def test_a_function_that_raises_is_a_server_error() -> None:
    with Gateway(lambda _: ({"errorType": "X", "errorMessage": "secret"}, False)) as gateway:
        status, _, body = request(gateway, "GET", "/health")
    assert (status, json.loads(body)) == (500, {"message": "Internal Server Error"})


def test_a_function_that_takes_too_long_is_unavailable() -> None:
    over = threading.Event()

    def hang(_: dict[str, Any]) -> tuple[Any, bool]:
        over.wait(10)
        return {}, True

    with Gateway(hang, timeout_seconds=0.05) as gateway:
        status, _, body = request(gateway, "GET", "/health")
        over.set()
    assert (status, json.loads(body)) == (503, {"message": "Service Unavailable"})


def test_requests_are_accepted_while_another_is_answered() -> None:
    both = threading.Barrier(2, timeout=5)

    def meet(_: dict[str, Any]) -> tuple[Any, bool]:
        both.wait()
        return {}, True

    statuses: list[int] = []
    with Gateway(meet) as gateway:
        callers = [
            threading.Thread(target=lambda: statuses.append(request(gateway, "GET", "/health")[0])) for _ in range(2)
        ]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert statuses == [200, 200]


def test_an_answer_without_content_has_no_body() -> None:
    with Gateway(lambda _: ({"statusCode": 204}, True)) as gateway:
        status, headers, body = request(gateway, "DELETE", "/sessions/a")
    assert (status, body) == (204, b"")
    assert "content-length" not in headers


@pytest.mark.parametrize(
    ("headers", "status"), [({"Content-Length": "99999999"}, 413), ({"Transfer-Encoding": "chunked"}, 411)]
)
def test_a_body_that_cannot_be_taken_is_refused_unread(headers: dict[str, str], status: int) -> None:
    with Gateway(echo) as gateway:
        answered, got, _ = request(gateway, "POST", "/chat", headers=headers)
    assert (answered, got["connection"]) == (status, "close")


def test_a_preflight_is_answered_without_the_function() -> None:
    cors = {"AllowOrigins": ["https://a.example"], "AllowMethods": ["POST"], "AllowHeaders": ["content-type"]}
    wanted = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    with Gateway(lambda _: ({}, False), cors=cors) as gateway:
        status, headers, _ = request(gateway, "OPTIONS", "/chat", headers=wanted)
        _, others, _ = request(gateway, "OPTIONS", "/chat", headers=wanted | {"Origin": "https://b.example"})
    assert status == 204
    assert headers["access-control-allow-origin"] == "https://a.example"
    assert (headers["access-control-allow-methods"], headers["access-control-allow-headers"]) == (
        "POST",
        "content-type",
    )
    assert "access-control-allow-origin" not in others


def test_with_cors_the_gateways_own_headers_replace_the_functions() -> None:
    answer = {"statusCode": 200, "headers": {"Access-Control-Allow-Origin": "https://function.example"}}
    with Gateway(lambda _: (answer, True), cors={"AllowOrigins": ["*"]}) as gateway:
        _, headers, _ = request(gateway, "GET", "/health", headers={"Origin": "https://a.example"})
    assert headers["access-control-allow-origin"] == "*"


def test_an_authorizer_fills_the_request_context_or_refuses() -> None:
    def authorizer(event: dict[str, Any]) -> dict[str, Any] | None:
        return {"jwt": {"claims": {"sub": "me"}}} if event["headers"].get("authorization") == "Bearer me" else None

    with Gateway(echo, authorizer=authorizer) as gateway:
        refused, _, _ = request(gateway, "POST", "/chat")
        _, _, body = request(gateway, "POST", "/chat", headers={"Authorization": "Bearer me"})
    assert refused == 401
    assert json.loads(body)["requestContext"]["authorizer"] == {"jwt": {"claims": {"sub": "me"}}}


def test_a_listener_is_told_of_each_answer() -> None:
    told: list[tuple[str, str, int]] = []
    with Gateway(echo, listener=lambda method, path, status, _: told.append((method, path, status))) as gateway:
        request(gateway, "GET", "/health?x=1")
        request(gateway, "GET", "/nowhere")
    assert told == [("GET", "/health", 200), ("GET", "/nowhere", 404)]


def test_a_taken_port_raises() -> None:
    with Gateway(echo) as gateway, pytest.raises(OSError, match="in use"):
        Gateway(echo, port=int(gateway.url.rpartition(":")[2]))
