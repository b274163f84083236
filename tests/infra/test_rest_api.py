"""`api: rest`: the same routes as a REST API, closed like the HTTP API, whose integration streams where answers do."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from infra.choices import ConfigError
from infra.context import from_context
from tests.infra.synthesis import POOL_TOKENS, STREAMS, Synthesis
from tests.infra.test_api import ROUTES

Synthesise = Callable[..., Synthesis]


def methods(stack: Synthesis) -> dict[str, dict[str, Any]]:
    """The methods of the API by route, preflights left out."""
    resources = stack.resources("ApiGateway::Resource")

    def path(reference: Any) -> str:
        if "Ref" not in reference:
            return ""
        resource = resources[reference["Ref"]]
        return f"{path(resource['ParentId'])}/{resource['PathPart']}"

    found = stack.resources("ApiGateway::Method").values()
    return {f"{m['HttpMethod']} {path(m['ResourceId'])}": m for m in found if m["HttpMethod"] != "OPTIONS"}


def test_the_routes_are_those_of_the_http_api_and_stream_for_as_long_as_the_function_may_take(
    synthesise: Synthesise,
) -> None:
    stack = synthesise(**STREAMS)
    made = methods(stack)
    assert made.keys() == ROUTES
    for method in made.values():
        integration = method["Integration"]
        assert (integration["ResponseTransferMode"], integration["TimeoutInMillis"]) == ("STREAM", 600_000)
        assert integration["Type"] == "AWS_PROXY"
        assert "/response-streaming-invocations" in json.dumps(integration["Uri"])
    assert not stack.resources("ApiGatewayV2::Api")


def test_every_route_but_health_asks_for_sigv4(synthesise: Synthesise) -> None:
    made = methods(synthesise(**STREAMS))
    closed = {route: method["AuthorizationType"] for route, method in made.items()}
    assert closed == {route: "NONE" if route == "GET /health" else "AWS_IAM" for route in ROUTES}


def test_the_endpoint_is_regional_since_an_edge_drops_what_is_silent_for_half_a_minute(synthesise: Synthesise) -> None:
    assert synthesise(**STREAMS).resource("ApiGateway::RestApi")["EndpointConfiguration"] == {"Types": ["REGIONAL"]}


def test_the_function_url_streams_only_where_answers_do(synthesise: Synthesise) -> None:
    assert synthesise(**STREAMS).resource("Lambda::Url")["InvokeMode"] == "RESPONSE_STREAM"
    assert synthesise(function_url=True).resource("Lambda::Url")["InvokeMode"] == "BUFFERED"


def test_the_function_may_stream_from_its_model_and_knows_that_it_streams(synthesise: Synthesise) -> None:
    stack = synthesise(streaming=True, function_url=True)
    assert stack.environment()["STREAMING"] == "true"
    [grant, *_] = [item for item in stack.allowed("bedrock") if "bedrock:InvokeModel" in item["Action"]]
    assert grant["Action"] == ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]
    [grant, *_] = [item for item in synthesise().allowed("bedrock") if "bedrock:InvokeModel" in item["Action"]]
    assert grant["Action"] in ("bedrock:InvokeModel", ["bedrock:InvokeModel"])


def test_tokens_of_a_user_pool_open_a_rest_api_that_waits_as_long_as_any_where_nothing_streams(
    synthesise: Synthesise,
) -> None:
    stack = synthesise(**POOL_TOKENS)
    made = methods(stack)
    [authorizer] = stack.resources("ApiGateway::Authorizer")
    arns = json.dumps(stack.resource("ApiGateway::Authorizer")["ProviderARNs"])
    assert "userpool/us-east-1_AbCdEf123" in arns
    for route, method in made.items():
        kind = "NONE" if route == "GET /health" else "COGNITO_USER_POOLS"
        assert method["AuthorizationType"] == kind
        assert method.get("AuthorizerId", {"Ref": authorizer}) == {"Ref": authorizer}
        assert method["Integration"]["TimeoutInMillis"] == 29_000
        assert "ResponseTransferMode" not in method["Integration"]
    preflights = [m for m in stack.resources("ApiGateway::Method").values() if m["HttpMethod"] == "OPTIONS"]
    assert {m["Integration"]["Type"] for m in preflights} == {"MOCK"}
    assert "https://example.com" in json.dumps(preflights)


def test_requests_are_throttled_and_logged_as_json(synthesise: Synthesise) -> None:
    stage = synthesise(**STREAMS).resource("ApiGateway::Stage")
    [settings] = stage["MethodSettings"]
    assert (settings["ThrottlingRateLimit"], settings["ThrottlingBurstLimit"]) == (10, 20)
    assert settings["DataTraceEnabled"] is False
    logged = json.loads(stage["AccessLogSetting"]["Format"])
    assert {"request_id", "route", "status", "milliseconds", "error"} <= set(logged)
    assert not [name for name, value in logged.items() if "caller" in value or "sourceIp" in value]


def test_the_alarm_for_slow_answers_knows_how_long_a_stream_may_take(synthesise: Synthesise) -> None:
    alarms = synthesise(**STREAMS).resources("CloudWatch::Alarm").values()
    [latency] = [each for each in alarms if "Latency" in json.dumps(each.get("MetricName", ""))]
    assert latency["Threshold"] == 0.9 * 600_000


def test_the_outputs_name_the_api_and_its_stage(synthesise: Synthesise) -> None:
    outputs = synthesise(**STREAMS).template["Outputs"]
    assert "/live" in json.dumps(outputs["ApiUrl"])
    assert "/live/chat" in json.dumps(outputs["CallApi"])


def test_a_rest_api_takes_no_other_issuers_tokens() -> None:
    context = {"api": "rest", "auth": "jwt", "jwt_issuer": "https://example.com/", "jwt_audience": "a"}
    with pytest.raises(ConfigError, match="Cognito user pool"):
        from_context(context)
