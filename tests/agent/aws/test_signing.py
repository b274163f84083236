"""Signatures, judged by botocore over generated requests, and by the example that AWS has published."""

from __future__ import annotations

import datetime
import hashlib
import random
from urllib.parse import quote

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as TheirCredentials

from agent.aws.signing import Credentials, Headers, Signer

_ODD = "abcXYZ019-._~:/@!$&'()*+,;= %üß漢😀\"<>[]{}|\\^`"
_IDS = (
    "anthropic.claude-3-5-sonnet-20241022-v2:0",
    "us.anthropic.claude-sonnet-4-20250514-v1:0",
    "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5",
    "arn:aws-cn:bedrock:cn-north-1:123456789012:inference-profile/cn.anthropic.x-v1:0",
    "arn:aws:bedrock:eu-west-1:1:provisioned-model/abc",
    "arn:aws:bedrock:us-east-1:1:prompt/PID:3",
)


def _theirs(
    method: str, url: str, headers: Headers, body: bytes, keys: Credentials, scope: tuple[str, str], now: int
) -> str:
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)

    class AtThatTime(SigV4Auth):
        def _set_necessary_date_headers(self, request: AWSRequest) -> None:
            request.context["timestamp"] = moment.strftime("%Y%m%dT%H%M%SZ")
            super()._set_necessary_date_headers(request)  # type: ignore[misc]

    request = AWSRequest(method, url, data=body)
    for name, value in headers:
        request.headers[name] = value
    AtThatTime(TheirCredentials(keys.access_key, keys.secret_key, keys.token or None), *scope).add_auth(request)
    return str(request.headers["Authorization"])


def _path(chance: random.Random) -> str:
    def word(longest: int) -> str:
        return "".join(chance.choice(_ODD) for _ in range(chance.randint(0, longest)))

    match chance.randrange(5):
        case 0:
            return f"/model/{quote(chance.choice(_IDS), safe='-._~')}/converse"
        case 1:
            return f"/model/{quote(chance.choice(_IDS), safe='-._~')}/converse-stream"
        case 2:
            return "/" + quote(word(30), safe=chance.choice(("/-._~", "-._~", "/:@-._~")))
        case 3:
            parts = ("", ".", "..", "a", "b%2Fc", "%2e%2e", "d.")
            return "/" + "/".join(chance.choice(parts) for _ in range(chance.randint(1, 7)))
    return "/"


def _headers(chance: random.Random, host: str) -> Headers:
    more = [
        ("Content-Type", "application/x-amz-json-1.0"),
        ("X-Amz-Target", "DynamoDB_20120810.GetItem"),
        ("X-Spaced", " a   b\t c "),
        ("X-Two", "b"),
        ("x-two", "a"),
        ("X-Unicode", "é\u00a0x"),
        ("X-Empty", ""),
    ]
    return [("Host", host), *chance.sample(more, chance.randint(0, len(more)))]


def test_signatures_are_botocores_to_the_byte() -> None:
    chance = random.Random(7)
    for number in range(600):
        host = chance.choice(("dynamodb.us-east-1.amazonaws.com", "localhost:8000", "example.com"))
        query = "&".join(
            chance.choice((f"b={chance.randrange(9)}", "a=%20x", "a=", "c", "a=1"))
            for _ in range(chance.choice((0, 0, 3)))
        )
        path, headers = _path(chance), _headers(chance, host)
        body = chance.choice((b"", b"{}", '{"a":"é漢😀"}'.encode(), chance.randbytes(300)))
        token = chance.choice(("", "IQoJ" + "x/+=" * 200))
        keys = Credentials(f"AKIA{number}", chance.choice(("wJalrXUtnFEMI/K7MDENG", "s/+é")), token)
        now = chance.randint(1_600_000_000, 2_000_000_000)
        scope = chance.choice((("dynamodb", "us-east-1"), ("bedrock", "cn-north-1"), ("sns", "eu-west-1")))
        method = chance.choice(("POST", "GET"))
        target = f"{path}?{query}" if query else path
        ours = Signer(*scope).signature(method, target, headers, body, keys, now)
        theirs = _theirs(method, f"https://{host}{target}", headers, body, keys, scope, now)
        assert ours["Authorization"] == theirs, (method, target, headers)
        assert ours.get("X-Amz-Security-Token", "") == token


# Method, target, headers beside Host, body, session token, signature: AWS's Signature Version 4 test suite, those of its
# cases that are signed with a normalized path (github.com/awslabs/aws-c-auth, tests/aws-signing-test-suite/v4).
_PUBLISHED: list[tuple[str, str, list[tuple[str, str]], bytes, str, str]] = [
    (
        "GET",
        "/",
        [("My-Header1", "value2"), ("My-Header1", "value2"), ("My-Header1", "value1 ")],
        b"",
        "",
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    ),
    (
        "GET",
        "/",
        [("My-Header1", "value1 value2 value3 ")],
        b"",
        "",
        "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd",
    ),
    (
        "GET",
        "/",
        [("My-Header1", "value4"), ("My-Header1", "value1"), ("My-Header1", "value3"), ("My-Header1", "value2 ")],
        b"",
        "",
        "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
    ),
    (
        "GET",
        "/",
        [("My-Header1", " value1"), ("My-Header2", ' "a   b   c" ')],
        b"",
        "",
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    ),
    ("GET", "/example/..", [], b"", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    (
        "GET",
        "/example1/example2/../..",
        [],
        b"",
        "",
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ),
    ("GET", "/./", [], b"", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    ("GET", "//", [], b"", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    ("GET", "/./example", [], b"", "", "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"),
    ("GET", "//example//", [], b"", "", "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"),
    ("GET", "/example space/", [], b"", "", "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
    (
        "GET",
        "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        [],
        b"",
        "",
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    ),
    ("GET", "/ሴ", [], b"", "", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
    ("GET", "/", [], b"", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    ("GET", "/?Param1=value1", [], b"", "", "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
    (
        "GET",
        "/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
        [],
        b"",
        "",
        "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
    ),
    (
        "GET",
        "/?Param2=value2&Param1=value1",
        [],
        b"",
        "",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    (
        "GET",
        "/?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        [],
        b"",
        "",
        "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
    ),
    (
        "GET",
        "/",
        [],
        b"",
        "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267",
        "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8",
    ),
    ("POST", "/", [], b"", "", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    (
        "POST",
        "/",
        [("My-Header1", "value1 ")],
        b"",
        "",
        "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
    ),
    (
        "POST",
        "/",
        [("My-Header1", "VALUE1 ")],
        b"",
        "",
        "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
    ),
    (
        "POST",
        "/",
        [],
        b"",
        "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==",
        "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
    ),
    ("POST", "/?Param1=value1", [], b"", "", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
    (
        "POST",
        "/",
        [("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", "13")],
        b"Param1=value1",
        "",
        "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b",
    ),
    (
        "POST",
        "/",
        [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"), ("Content-Length", "13")],
        b"Param1=value1",
        "",
        "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422",
    ),
]


@pytest.mark.parametrize(("method", "target", "headers", "body", "token", "signature"), _PUBLISHED)
def test_signatures_are_those_that_aws_has_published(
    method: str, target: str, headers: list[tuple[str, str]], body: bytes, token: str, signature: str
) -> None:
    keys = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token)
    now = datetime.datetime(2015, 8, 30, 12, 36, tzinfo=datetime.UTC).timestamp()
    signed = [("Host", "example.amazonaws.com"), *headers]
    if body:
        signed.append(("X-Amz-Content-Sha256", hashlib.sha256(body).hexdigest()))
    found = Signer("service", "us-east-1").signature(method, target, signed, body, keys, now)
    assert found["Authorization"].endswith(f"Signature={signature}")


def test_a_changed_key_or_day_is_signed_with_a_key_of_its_own() -> None:
    signer, day = Signer("dynamodb", "us-east-1"), 86_400.0
    turns = [("one", 0.0), ("two", 0.0), ("two", day), ("one", 0.0)]
    headers = [("Host", "example.com")]
    found = [
        signer.signature("POST", "/", headers, b"", Credentials("A", key), now)["Authorization"] for key, now in turns
    ]
    alone = [
        Signer("dynamodb", "us-east-1").signature("POST", "/", headers, b"", Credentials("A", key), now)[
            "Authorization"
        ]
        for key, now in turns
    ]
    assert found == alone
    assert len(set(found)) == 3
