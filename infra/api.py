"""The HTTP API: the function's routes, closed to strangers but for GET /health, throttled and logged."""

import json

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.config import Config
from infra.log_group import log_group

CLOSED_ROUTES = (
    "POST /chat",
    "GET /sessions/{session_id}",
    "DELETE /sessions/{session_id}",
    "POST /sessions/{session_id}/approvals",
)
PUBLIC_ROUTE = "GET /health"
# The function gives up first, to answer for itself; 29 s is the most that an HTTP API waits.
INTEGRATION_MARGIN_SECONDS = 1
ACCESS_LOG_FIELDS = {
    "request_id": "$context.requestId",
    "time": "$context.requestTimeEpoch",
    "route": "$context.routeKey",
    "status": "$context.status",
    "milliseconds": "$context.responseLatency",
    "integration_milliseconds": "$context.integrationLatency",
    "bytes": "$context.responseLength",
    "source_ip": "$context.identity.sourceIp",
    "caller": "$context.identity.caller",
    "subject": "$context.authorizer.claims.sub",
    # Why the gateway itself refused a request, such as one with a wrong signature.
    "error": "$context.error.message",
    "authorizer_error": "$context.authorizer.error",
    "integration_error": "$context.integrationErrorMessage",
}
# What a SigV4 or JWT client in a browser sends.
CORS_HEADERS = ["authorization", "content-type", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"]


class AgentApi(Construct):
    """The API in front of the function: `api`, and `public_route`, the one that needs no credentials."""

    def __init__(self, scope: Construct, construct_id: str, config: Config, target: lambda_.IFunction) -> None:
        super().__init__(scope, construct_id)
        self.api = apigateway.HttpApi(
            self,
            "Api",
            api_name=config.name,
            create_default_stage=False,
            default_authorizer=_authorizer(config),
            cors_preflight=_cors(config),
        )
        self._add_stage(config)
        integration = integrations.HttpLambdaIntegration(
            "Function",
            target,
            payload_format_version=apigateway.PayloadFormatVersion.VERSION_2_0,
            timeout=cdk.Duration.seconds(config.http_timeout_seconds + INTEGRATION_MARGIN_SECONDS),
        )
        for route in CLOSED_ROUTES:
            self._add_route(route, integration, None)
        self.public_route = self._add_route(PUBLIC_ROUTE, integration, apigateway.HttpNoneAuthorizer())
        if config.auth == "none":
            cdk.Annotations.of(self).add_warning_v2(
                "agent:open-api", "auth=none: anyone who knows the API's address can use the model at your expense"
            )

    def _add_route(
        self,
        route: str,
        integration: apigateway.HttpRouteIntegration,
        authorizer: apigateway.IHttpRouteAuthorizer | None,
    ) -> apigateway.HttpRoute:
        method, path = route.split(" ")
        [made] = self.api.add_routes(
            path=path, methods=[apigateway.HttpMethod[method]], integration=integration, authorizer=authorizer
        )
        return made

    def _add_stage(self, config: Config) -> None:
        stage = apigateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(
                rate_limit=config.api_requests_per_second, burst_limit=config.api_burst
            ),
        )
        access_log = log_group(self, "AccessLog", config.log_retention_days)
        resource = stage.node.default_child
        assert isinstance(resource, apigateway.CfnStage)
        resource.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=access_log.log_group_arn, format=json.dumps(ACCESS_LOG_FIELDS)
        )


def _authorizer(config: Config) -> apigateway.IHttpRouteAuthorizer:
    if config.auth == "jwt":
        return authorizers.HttpJwtAuthorizer(
            "Tokens", str(config.jwt_issuer), jwt_audience=list(config.jwt_audience or ())
        )
    return authorizers.HttpIamAuthorizer() if config.auth == "iam" else apigateway.HttpNoneAuthorizer()


def _cors(config: Config) -> apigateway.CorsPreflightOptions | None:
    if not config.cors_origins:
        return None
    methods = [apigateway.CorsHttpMethod.GET, apigateway.CorsHttpMethod.POST, apigateway.CorsHttpMethod.DELETE]
    return apigateway.CorsPreflightOptions(
        allow_origins=list(config.cors_origins),
        allow_methods=methods,
        allow_headers=CORS_HEADERS,
        expose_headers=["retry-after"],
        max_age=cdk.Duration.hours(1),
    )
