"""The API: closed but for GET /health, throttled, logged, and in agreement with the function."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.infra.synthesis import EVERYTHING, TOKENS, Synthesis

Synthesise = Callable[..., Synthesis]
ROUTES = {
    "POST /chat",
    "GET /sessions/{session_id}",
    "DELETE /sessions/{session_id}",
    "POST /sessions/{session_id}/approvals",
    "GET /health",
}


def authorization(stack: Synthesis) -> dict[str, str]:
    return {route["RouteKey"]: route["AuthorizationType"] for route in stack.resources("ApiGatewayV2::Route").values()}


def test_every_route_but_health_asks_for_sigv4(stack: Synthesis) -> None:
    assert authorization(stack) == {route: "NONE" if route == "GET /health" else "AWS_IAM" for route in ROUTES}
    assert not [warning for warning in stack.warnings if "api" in warning]


def test_every_route_but_health_asks_for_a_token_of_the_issuer(synthesise: Synthesise) -> None:
    stack = synthesise(**TOKENS)
    assert authorization(stack) == {route: "NONE" if route == "GET /health" else "JWT" for route in ROUTES}
    [authorizer] = stack.resources("ApiGatewayV2::Authorizer")
    expected = {"Audience": ["agents"], "Issuer": "https://example.com/"}
    assert stack.resource("ApiGatewayV2::Authorizer")["JwtConfiguration"] == expected
    closed = [item for item in stack.resources("ApiGatewayV2::Route").values() if item["AuthorizationType"] == "JWT"]
    assert [route["AuthorizerId"] for route in closed] == [{"Ref": authorizer}] * 4


def test_an_open_api_is_warned_of(synthesise: Synthesise) -> None:
    stack = synthesise(**EVERYTHING)
    assert set(authorization(stack).values()) == {"NONE"}
    assert stack.warnings == ["Annotation::agent:open-api"]


def test_requests_are_throttled_and_logged_as_json(stack: Synthesis) -> None:
    stage = stack.resource("ApiGatewayV2::Stage")
    assert stage["DefaultRouteSettings"] == {"ThrottlingRateLimit": 10, "ThrottlingBurstLimit": 20}
    assert stage["AccessLogSettings"]["DestinationArn"]["Fn::GetAtt"][0] in stack.resources("Logs::LogGroup")
    fields = json.loads(stage["AccessLogSettings"]["Format"])
    assert {"request_id", "route", "status", "milliseconds", "error"} <= set(fields)


@pytest.mark.parametrize("choices", [{}, TOKENS])
def test_the_gateway_waits_a_little_longer_than_the_function_takes(
    synthesise: Synthesise, choices: dict[str, Any]
) -> None:
    stack = synthesise(**choices)
    integration = stack.resource("ApiGatewayV2::Integration")
    seconds = int(choices.get("http_timeout_seconds", 28))
    assert stack.environment()["HTTP_TIMEOUT_SECONDS"] == str(seconds)
    assert integration["TimeoutInMillis"] == 1000 * (seconds + 1)
    assert integration["PayloadFormatVersion"] == "2.0"


def test_pages_of_named_origins_may_call_and_no_others(synthesise: Synthesise, stack: Synthesis) -> None:
    cors = synthesise(**EVERYTHING).resource("ApiGatewayV2::Api")["CorsConfiguration"]
    assert cors["AllowOrigins"] == ["https://example.com"]
    assert set(cors["AllowMethods"]) == {route.split()[0] for route in ROUTES}
    assert "CorsConfiguration" not in stack.resource("ApiGatewayV2::Api")
    assert synthesise(**EVERYTHING).environment()["CORS_ORIGINS"] == "https://example.com"


def test_only_the_api_may_call_the_function_and_each_route_by_name(stack: Synthesis) -> None:
    [api] = stack.resources("ApiGatewayV2::Api")
    permissions = stack.resources("Lambda::Permission").values()
    assert len(permissions) == len(ROUTES)
    for permission in permissions:
        assert permission["Principal"] == "apigateway.amazonaws.com"
        assert api in str(permission["SourceArn"])


@pytest.mark.parametrize(
    ("choices", "words"),
    [({}, "--aws-sigv4"), (TOKENS, "authorization: Bearer $TOKEN"), (EVERYTHING, "curl --header")],
)
def test_the_outputs_tell_how_to_call_it(synthesise: Synthesise, choices: dict[str, Any], words: str) -> None:
    outputs = synthesise(**choices).template["Outputs"]
    assert {"FunctionName", "TableName", "ApiUrl", "CallApi", "CallFunction"} <= set(outputs)
    assert words in str(outputs["CallApi"]["Value"])
    assert "aws lambda invoke" in str(outputs["CallFunction"]["Value"])
    assert ("CallFunctionUrl" in outputs) == bool(choices.get("function_url"))


@pytest.mark.parametrize("token", ["", "a token"])
def test_the_printed_curl_line_gives_a_token_only_where_there_is_one(
    stack: Synthesis, tmp_path: Path, token: str
) -> None:
    parts = stack.template["Outputs"]["CallApi"]["Value"]["Fn::Join"][1]
    line = "".join(part if isinstance(part, str) else "TOKEN" for part in parts)
    curl = tmp_path / "curl"
    curl.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    curl.chmod(0o755)
    environment = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": token}
    done = subprocess.run(
        ["/bin/sh", "-c", line], env={"PATH": str(tmp_path), **environment}, capture_output=True, text=True, check=True
    )
    given = json.loads(done.stdout)
    assert given[:2] == ["--user", "key:secret"]
    assert given[2:4] == (["--header", f"x-amz-security-token: {token}"] if token else ["--aws-sigv4", given[3]])
    assert given[-3:-1] == ["--data", '{"question": "What is the sine of 1?"}']
