"""The signed client as a service sees it, and what becomes of its answers; botocore parses the same ones beside it."""

from __future__ import annotations

import json
import random
from typing import Any
from urllib.parse import parse_qs
from zlib import crc32

import botocore.session
import pytest
from botocore.parsers import create_parser

from agent.aws.client import AWS, Client
from agent.aws.errors import ConnectionFailedError, ServiceError, TimedOutError, UnreadableError
from agent.deadline import Deadline
from agent.errors import MisconfiguredError
from tests.agent.aws.servers import Authority, Script, answering, ok, serving

_KEYS = {"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "secret"}
_PROTOCOLS = {"dynamodb": "json", "secretsmanager": "json", "bedrock-runtime": "rest-json", "sns": "query"}
NOW = 1_800_000_000.0


def _client(service: str, url: str, **environment: str) -> Client:
    return Client(AWS({**_KEYS, "AWS_ENDPOINT_URL": url, **environment}), service, now=lambda: NOW)


def _call(client: Client, seconds: float = 5) -> dict[str, Any]:
    return client.call("GetItem", {"TableName": "t", "Key": {"id": {"S": "é"}}}, Deadline.after(seconds))


def _headers(request: bytes) -> dict[str, str]:
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def test_a_call_of_a_json_service_is_what_its_api_takes() -> None:
    with serving(answering(ok(b'{"Item":{"id":{"S":"1"}}}'))) as server:
        assert _call(_client("dynamodb", server.url, AWS_SESSION_TOKEN="IQoJ")) == {"Item": {"id": {"S": "1"}}}
    (request,) = server.requests
    assert request.startswith(b"POST / HTTP/1.1\r\n")
    assert json.loads(request.partition(b"\r\n\r\n")[2]) == {"TableName": "t", "Key": {"id": {"S": "é"}}}
    headers = _headers(request)
    assert headers["x-amz-target"] == "DynamoDB_20120810.GetItem"
    assert headers["content-type"] == "application/x-amz-json-1.0"
    assert headers["host"] == f"127.0.0.1:{server.port}"
    assert "accept-encoding" not in headers  # AWS compresses where that is asked for
    assert headers["x-amz-security-token"] == "IQoJ"
    assert headers["authorization"].startswith(
        "AWS4-HMAC-SHA256 Credential=AKIA/20270115/eu-west-1/dynamodb/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature="
    )


def test_a_call_of_sns_is_a_form() -> None:
    with serving(answering(ok(b"<PublishResponse/>"))) as server:
        found = _client("sns", server.url).query("Publish", {"Message": "é & ü", "TopicArn": "a"}, Deadline.after(5))
    assert found == b"<PublishResponse/>"
    form = parse_qs(server.requests[0].partition(b"\r\n\r\n")[2].decode())
    assert form == {"Action": ["Publish"], "Version": ["2010-03-31"], "Message": ["é & ü"], "TopicArn": ["a"]}


def test_bedrock_is_signed_as_bedrock() -> None:
    with serving(answering(ok(b"{}"))) as server:
        response = _client("bedrock-runtime", f"{server.url}/prefix").post(
            "/model/a%3A0/converse", b"{}", Deadline.after(5)
        )
        assert response.body() == b"{}"
    assert server.requests[0].startswith(b"POST /prefix/model/a%3A0/converse HTTP/1.1\r\n")
    assert "/eu-west-1/bedrock/aws4_request" in _headers(server.requests[0])["authorization"]


def test_the_trace_goes_along_unsigned_since_lambda_notices_recursion_by_it() -> None:
    trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=557abcec3ee5a047;Sampled=1;Lineage=a:1"
    with serving(answering(ok(b"{}"))) as server:
        _call(_client("dynamodb", server.url, _X_AMZN_TRACE_ID=trace + " é", AWS_LAMBDA_FUNCTION_NAME="f"))
        _call(_client("dynamodb", server.url, _X_AMZN_TRACE_ID=trace))
    headers, outside = map(_headers, server.requests)
    assert headers["x-amzn-trace-id"] == trace + "%20%C3%A9"
    assert "trace" not in headers["authorization"]
    assert "x-amzn-trace-id" not in outside


def test_a_bearer_token_takes_the_place_of_the_signature_for_bedrock_over_https(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    authority = Authority(tmp_path_factory.mktemp("authority"))
    environment = {"AWS_CA_BUNDLE": str(authority.bundle), "AWS_BEARER_TOKEN_BEDROCK": "key"}
    with serving(answering(ok(b"{}")), authority.context()) as server:
        _client("bedrock-runtime", server.url, **environment).post("/", b"", Deadline.after(5)).body()
        _call(_client("dynamodb", server.url, **environment))
    bedrock, dynamodb = map(_headers, server.requests)
    assert bedrock["authorization"] == "Bearer key"
    assert not {"x-amz-date", "x-amz-security-token"} & bedrock.keys()
    assert dynamodb["authorization"].startswith("AWS4-HMAC-SHA256 ")


def test_a_bearer_token_is_never_sent_in_the_clear() -> None:
    with serving(answering(ok(b"{}"))) as server:
        client = _client("bedrock-runtime", server.url, AWS_BEARER_TOKEN_BEDROCK="key")
        with pytest.raises(MisconfiguredError, match="not set up correctly"):
            client.post("/", b"", Deadline.after(5))
    assert server.requests == []


@pytest.mark.parametrize("region", ["", "us east 1", "a/b", "é"])
def test_a_region_that_is_none_is_told(region: str) -> None:
    with pytest.raises(MisconfiguredError) as failed:
        AWS({**_KEYS, "AWS_REGION": region})
    assert failed.value.detail.startswith(f"AWS_REGION is {region!r}")
    assert AWS({"AWS_DEFAULT_REGION": "us-east-1"}).region == "us-east-1"


def test_an_answer_whose_checksum_is_wrong_is_refused() -> None:
    body = b'{"Item":{}}'
    with serving(answering(ok(body, x_amz_crc32=str(crc32(body))))) as server:
        assert _call(_client("dynamodb", server.url)) == {"Item": {}}
    with serving(answering(ok(body, x_amz_crc32=str(crc32(body) ^ 1)))) as server, pytest.raises(UnreadableError):
        _call(_client("dynamodb", server.url))


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"[" * 10_000, b'{"a":', b"\xff", b"null"])
def test_an_answer_that_is_no_json_object_is_refused(body: bytes) -> None:
    with serving(answering(ok(body))) as server, pytest.raises(UnreadableError):
        _call(_client("dynamodb", server.url))


def test_an_empty_answer_is_an_empty_object() -> None:
    with serving(answering(ok(b""))) as server:
        assert _call(_client("dynamodb", server.url)) == {}


@pytest.mark.parametrize("close", [True, False])
def test_nothing_is_sent_again(close: bool) -> None:
    with serving(
        answering(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n" if not close else b"", close=close)
    ) as server:
        with pytest.raises(ConnectionFailedError if close else ServiceError):
            _call(_client("dynamodb", server.url))
        assert len(server.requests) == 1


def test_a_call_ends_with_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(connection: Any, request: bytes) -> None:
        connection.recv(1)

    with serving(silent) as server:
        client = _client("dynamodb", server.url)
        for seconds in (0.1, 60.0):
            deadline = Deadline.after(seconds)
            with pytest.raises(TimedOutError):
                _call_until(client, deadline)
            assert deadline.left() > (-0.5 if seconds < 1 else 58)


def _call_until(client: Client, deadline: Deadline) -> None:
    client.call("GetItem", {}, deadline)


_BODIES: list[Any] = [
    {"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException", "message": "slow down"},
    {"__type": "ResourceNotFoundException", "Message": "not there"},
    {"__type": "a#ValidationException:http://internal.amazon.com/coral/", "message": "é漢"},
    {"code": "ServiceUnavailableException", "message": ""},
    {"Code": "x#AccessDeniedException", "Message": "no", "message": "really no"},
    {"message": "no code"},
    {},
]
_XML = (
    '<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type><Code>{code}</Code>'
    "<Message>{message}</Message></Error><RequestId>{id}</RequestId></ErrorResponse>"
)


@pytest.mark.parametrize("service", _PROTOCOLS)
def test_refusals_are_read_as_botocore_reads_them(service: str) -> None:
    chance = random.Random(service)
    parser = create_parser(_PROTOCOLS[service])
    answers: list[tuple[int, dict[str, str], bytes]] = []
    for _ in range(60):
        status = chance.choice((400, 403, 413, 424, 429, 500, 503))
        headers = {"x-amzn-requestid": f"id-{chance.randrange(99)}"} if chance.random() < 0.8 else {}
        if chance.random() < 0.4:
            headers["x-amzn-errortype"] = chance.choice(
                ("ThrottlingException:http://a/b", "a#ModelErrorException", "X")
            )
        body = json.dumps(chance.choice(_BODIES), ensure_ascii=False).encode()
        if service == "sns":
            values = {"code": chance.choice(("Throttled", "NotFound")), "message": "a &amp; b é", "id": "r1"}
            body = _XML.format(**values).encode()
        elif chance.random() < 0.3:
            body = chance.choice((b"", b"plain words", b"<html>busy</html>"))
        answers.append((status, headers, body))
    served = iter(answers)
    with serving(lambda connection, request: connection.sendall(_answer(*next(served)))) as server:
        client = _client(service, server.url)
        for status, headers, body in answers:
            theirs: Any = parser.parse({"status_code": status, "headers": headers, "body": body}, None)  # type: ignore[arg-type]
            with pytest.raises(ServiceError) as refused:
                client.post("/", b"", Deadline.after(5))
            ours = refused.value
            assert ours.status == status
            made_up = status >= 500 and (not body or body.startswith(b"<html>"))  # then botocore looks at nothing else
            assert ours.code == theirs["Error"]["Code"] or made_up, (status, headers, body)
            if not body.startswith(b"<html>") and body:  # for these botocore makes a message up
                assert ours.message == theirs["Error"]["Message"]
            assert ours.request_id == theirs["ResponseMetadata"].get("RequestId", headers.get("x-amzn-requestid", ""))
            assert set(headers.items()) <= set(ours.headers.items())
    assert server.connections == 1


def _answer(status: int, headers: dict[str, str], body: bytes) -> bytes:
    told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{told}\r\n".encode() + body


def test_a_clock_that_is_wrong_is_told_with_how_far_it_is() -> None:
    date = "Fri, 15 Jan 2027 07:50:00 GMT"
    message = "Signature expired: 20270115T080000Z is now earlier than 20270115T074500Z (20270115T075000Z - 5 min.)"
    body = json.dumps({"__type": "InvalidSignatureException", "message": message}).encode()
    script: Script = answering(_answer(400, {"Date": date}, body))
    with serving(script) as server, pytest.raises(ServiceError) as refused:
        _call(_client("dynamodb", server.url))
    assert refused.value.is_misconfigured
    assert refused.value.message == f"{message} (by AWS's own clock, the one here is 600 s ahead)"
    with serving(answering(_answer(400, {"Date": "nonsense"}, body))) as server, pytest.raises(ServiceError) as refused:
        _call(_client("dynamodb", server.url))
    assert refused.value.message == message


def test_services_are_found_in_their_region() -> None:
    session = botocore.session.get_session()
    for service in _PROTOCOLS:
        theirs: Any = session.create_client(service, region_name="eu-west-1")
        found = Client(AWS(_KEYS), service)._endpoint
        assert f"https://{found.authority}" == theirs.meta.endpoint_url
        theirs.close()
