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
    "GET /approvals",
    "GET /openapi.json",
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
    assert [route["AuthorizerId"] for route in closed] == [{"Ref": authorizer}] * (len(ROUTES) - 1)
    assert [route["AuthorizationScopes"] for route in closed] == [["ask", "answer"]] * (len(ROUTES) - 1)


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


def test_the_access_log_lies_where_it_takes_no_room_in_the_accounts_policy_and_tells_nobody_apart(
    stack: Synthesis,
) -> None:
    stage = stack.resource("ApiGatewayV2::Stage")["AccessLogSettings"]
    group = stack.resources("Logs::LogGroup")[stage["DestinationArn"]["Fn::GetAtt"][0]]
    assert group["LogGroupName"] == "/aws/vendedlogs/apis/agent"
    assert not [word for word in ("identity", "claims", "sourceIp", "userAgent") if word in stage["Format"]]


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


def test_the_function_url_answers_browsers_as_the_api_does(synthesise: Synthesise) -> None:
    stack = synthesise(**EVERYTHING)
    url, api = stack.resource("Lambda::Url")["Cors"], stack.resource("ApiGatewayV2::Api")["CorsConfiguration"]
    for key in ("AllowOrigins", "AllowMethods", "AllowHeaders", "ExposeHeaders", "MaxAge"):
        assert url[key] == api[key]
    assert stack.resource("Lambda::Url")["AuthType"] == "AWS_IAM"


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


def run(line: str, folder: Path, environment: dict[str, str], *programs: str) -> list[str]:
    """What the programs in a printed line were given; each tells its arguments and what came in."""
    for program in programs:
        (folder / program).write_text(
            f"#!{sys.executable}\nimport json, sys\nargs = sys.argv[1:]\n"
            "paths = [arg.removeprefix('fileb://') for arg in args if arg.startswith('fileb://')]\n"
            "print(json.dumps([*args, *(open(path).read() for path in paths)]))\n"
        )
        (folder / program).chmod(0o755)
    variables = {"PATH": f"{folder}:/usr/bin:/bin", **environment}
    done = subprocess.run(["/bin/sh", "-c", line], env=variables, capture_output=True, text=True, check=True)
    given: list[str] = json.loads(done.stdout)
    return given


def test_the_printed_invocation_waits_for_the_function_and_can_be_repeated(stack: Synthesis, tmp_path: Path) -> None:
    """Without options that only one version of the AWS CLI knows: fileb:// means the same to both."""
    parts = stack.template["Outputs"]["CallFunction"]["Value"]["Fn::Join"][1]
    given = run("".join(part if isinstance(part, str) else "TOKEN" for part in parts), tmp_path, {}, "aws")
    *arguments, event = given
    assert arguments[:2] == ["lambda", "invoke"]
    assert int(arguments[arguments.index("--cli-read-timeout") + 1]) > stack.resource("Lambda::Function")["Timeout"]
    assert set(json.loads(event)) == {"question", "request_id"}
    known = {"--function-name", "--region", "--cli-read-timeout", "--payload"}
    assert {argument for argument in arguments if argument.startswith("--")} == known


@pytest.mark.parametrize("token", ["", "a token"])
def test_the_printed_curl_line_gives_a_token_only_where_there_is_one(
    stack: Synthesis, tmp_path: Path, token: str
) -> None:
    parts = stack.template["Outputs"]["CallApi"]["Value"]["Fn::Join"][1]
    line = "".join(part if isinstance(part, str) else "TOKEN" for part in parts)
    environment = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": token}
    given = run(line, tmp_path, environment, "curl")
    assert given[:2] == ["--user", "key:secret"]
    assert given[2:4] == (["--header", f"x-amz-security-token: {token}"] if token else ["--aws-sigv4", given[3]])
    assert given[-3:-1] == ["--data", '{"question": "What is the sine of 1?"}']
