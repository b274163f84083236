"""Bodies of POST /chat, well formed and not."""

import base64
import json

import pytest

from tests.agent.edge.gateway_events import MAKERS, Maker, error_code, http_api
from tests.agent.edge.whole_function import Whole, unique

every_gateway = pytest.mark.parametrize("event", MAKERS, ids=lambda maker: maker.__name__)


@every_gateway
def test_a_base64_body_is_decoded(whole: Whole, event: Maker) -> None:
    body = base64.b64encode('{"question": "こんにちは"}'.encode()).decode()
    assert whole.http({**event(body=body), "isBase64Encoded": True})["statusCode"] == 200
    assert whole.requests[-1].body["messages"][-1]["content"] == [{"text": "こんにちは"}]


BAD_BODIES: dict[str, tuple[str | None, bool]] = {
    "missing": (None, False),
    "empty": ("", False),
    "invalid base64": ("!!!", True),
    "base64 cut short": ("eyJxdWVzdGlvbiI6ICJoaSJ", True),
    "base64 of bytes that are no UTF-8": (base64.b64encode(b'{"question": "\xff\xfe"}').decode(), True),
    "base64 of half a surrogate": (base64.b64encode(b'{"question": "\xed\xa0\x80"}').decode(), True),
    "byte order mark": ('\ufeff{"question": "hi"}', False),
    "trailing comma": ('{"question": "hi",}', False),
    "form data": ("question=hi&session_id=s", False),
    "NaN": ('{"question": NaN}', False),
    "NaN beside": ('{"question": "hi", "x": NaN}', False),
    "Infinity beside": ('{"question": "hi", "x": -Infinity}', False),
    "nesting of 10,000": ('{"question": ' + "[" * 10_000 + "]" * 10_000 + "}", False),
    "5,000 digits": ('{"question": ' + "9" * 5_000 + "}", False),
    "a list": ("[]", False),
    "null": ("null", False),
    "a text": ('"hi"', False),
    "two values": ('{"question": "hi"}{"question": "hi"}', False),
    "question is an object": ('{"question": {"text": "hi"}}', False),
    "question is a number": ('{"question": 5}', False),
    "question is a list": ('{"question": []}', False),
    "question is null": ('{"question": null}', False),
    "question is true": ('{"question": true}', False),
    "question is empty": ('{"question": ""}', False),
    "question is white space": ('{"question": " \\n\\t"}', False),
    "question is a full-width space": ('{"question": "\u3000"}', False),
}


@every_gateway
@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_body_that_is_not_ours_is_told(whole: Whole, event: Maker, name: str) -> None:
    body, is_base64 = BAD_BODIES[name]
    response = whole.http({**event(body=body), "isBase64Encoded": is_base64})
    assert (response["statusCode"], error_code(response)) == (400, "invalid_request")
    assert "question" in json.loads(response["body"])["error"]["message"]
    assert not whole.requests


def test_an_object_as_body_is_told(whole: Whole) -> None:
    response = whole.http({**http_api(), "body": {"question": "hi"}})
    assert (response["statusCode"], error_code(response)) == (400, "invalid_request")


@pytest.mark.parametrize("base64_encoded", [False, True])
def test_a_body_over_1_mb_is_too_large(whole: Whole, base64_encoded: bool) -> None:
    text = json.dumps({"question": "hi", "padding": "x" * 1_000_000})
    body = base64.b64encode(text.encode()).decode() if base64_encoded else text
    response = whole.http({**http_api(body=body), "isBase64Encoded": base64_encoded})
    assert (response["statusCode"], error_code(response)) == (413, "payload_too_large")


def test_a_question_of_100_000_characters_is_the_longest(whole: Whole) -> None:
    assert whole.http(http_api(body={"question": "x" * 100_000, "session_id": unique()}))["statusCode"] == 200
    response = whole.http(http_api(body={"question": "x" * 100_001}))
    assert (response["statusCode"], error_code(response)) == (413, "payload_too_large")
    assert len(whole.requests) == 1


@pytest.mark.parametrize("name", ["session_id", "request_id"])
@pytest.mark.parametrize(
    "value", ["", "x" * 129, "🌞", "a#b", "a b", "a/b", "a\n", "ａ", 5, 1.5, True, [], {}, ["s"]], ids=repr
)
def test_an_id_that_is_none_is_told(whole: Whole, name: str, value: object) -> None:
    response = whole.http(http_api(body={"question": "hi", name: value}))
    assert (response["statusCode"], error_code(response)) == (400, "invalid_request")
    assert name in json.loads(response["body"])["error"]["message"]
    assert not whole.requests


@pytest.mark.parametrize("value", ["x" * 128, "a.b_c:d@e-f", "0"])
def test_an_id_of_the_allowed_characters_is_taken(whole: Whole, value: str) -> None:
    response = whole.http(http_api(body={"question": "hi", "session_id": value, "request_id": value}))
    assert json.loads(response["body"])["session_id"] == value


def test_half_a_surrogate_pair_is_replaced(whole: Whole) -> None:
    response = whole.http(http_api(body='{"question": "a\\ud83d b"}'))
    assert response["statusCode"] == 200
    assert whole.requests[-1].body["messages"][-1]["content"] == [{"text": "a\ufffd b"}]


def test_keys_that_nobody_knows_are_ignored(whole: Whole) -> None:
    body = {"question": "hi", "session_id": unique(), "extra": [1, {"a": None}], "question2": 5}
    assert whole.http(http_api(body=body))["statusCode"] == 200
