"""Events and responses of payload 2.0."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from local.payload import HttpRequest, build_event, build_response
from local.routes import compile_routes

# As API Gateway sends it: "Working with AWS Lambda proxy integrations for HTTP APIs" in its Developer Guide.
SAMPLE = Path(__file__).with_name("http_chat.json")
[CHAT] = compile_routes(["POST /chat"])


def event_of(*headers: tuple[str, str], target: str = "/chat", body: bytes = b"") -> dict[str, Any]:
    return build_event(HttpRequest("POST", target, headers, body, "192.0.2.1"), CHAT, {}, "request-1")


@pytest.mark.parametrize("content_type", ["application/json", "text/plain; charset=utf-8", "application/ld+json"])
def test_a_text_body_is_passed_as_text(content_type: str) -> None:
    event = event_of(("Content-Type", content_type), body="質問".encode())
    assert (event["body"], event["isBase64Encoded"]) == ("質問", False)


@pytest.mark.parametrize("headers", [[], [("Content-Type", "application/x-www-form-urlencoded")]])
def test_any_other_body_is_passed_as_base64(headers: list[tuple[str, str]]) -> None:
    event = event_of(*headers, body=b"a=1")
    assert (event["body"], event["isBase64Encoded"]) == (base64.b64encode(b"a=1").decode(), True)


def test_headers_are_lower_case_joined_and_without_cookies() -> None:
    event = event_of(("X-Many", "a"), ("x-many", "b"), ("Cookie", "a=1; b=2"), ("cookie", "c=3"))
    assert event["headers"] == {"x-many": "a,b"}
    assert event["cookies"] == ["a=1", "b=2", "c=3"]


def test_the_query_comes_raw_and_joined_and_the_path_decoded() -> None:
    event = event_of(target="/a%20b?x=1&x=2&y=")
    assert event["rawPath"] == "/a b"
    assert event["rawQueryString"] == "x=1&x=2&y="
    assert event["queryStringParameters"] == {"x": "1,2", "y": ""}


def test_absent_parts_are_left_out() -> None:
    assert not {"body", "cookies", "queryStringParameters", "pathParameters"} & event_of().keys()


def test_the_sample_event_has_the_keys_of_the_gateways_own() -> None:
    sample = json.loads(SAMPLE.read_text(encoding="utf-8"))
    event = event_of(("Content-Type", "application/json"), body=b"{}")
    assert sample.keys() == event.keys()
    assert sample["requestContext"].keys() == event["requestContext"].keys()
    assert sample["requestContext"]["http"].keys() == event["requestContext"]["http"].keys()


def test_an_answer_without_status_becomes_the_body_of_a_200() -> None:
    response = build_response({"answer": "はい"})
    assert response.status == 200
    assert json.loads(response.body) == {"answer": "はい"}
    assert response.headers == (("Content-Type", "application/json"),)


def test_a_base64_body_and_cookies_are_unpacked() -> None:
    answer = {"statusCode": 201, "body": base64.b64encode(b"\x00\xff").decode(), "isBase64Encoded": True}
    response = build_response(answer | {"cookies": ["a=1", "b=2"], "headers": {"Content-Type": "image/x"}})
    assert (response.status, response.body) == (201, b"\x00\xff")
    assert response.headers == (("Content-Type", "image/x"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"))


@pytest.mark.parametrize("answer", [{"statusCode": "nonsense"}, {"statusCode": 200, "body": {"a": 1}}])
def test_an_answer_of_the_wrong_form_is_a_server_error(answer: dict[str, Any]) -> None:
    assert build_response(answer).status == 500
