"""The HTTP API: the function's routes, closed to strangers but for GET /health, throttled and logged."""

import json

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.config import Config
from infra.cors import CORS_EXPOSED, CORS_HEADERS, CORS_MAX_AGE, CORS_METHODS
from infra.log_group import log_group

CLOSED_ROUTES = (
    "POST /chat",
    "GET /sessions/{session_id}",
    "DELETE /sessions/{session_id}",
    "POST /sessions/{session_id}/approvals",
    "GET /approvals",
    "GET /openapi.json",
)
PUBLIC_ROUTE = "GET /health"
# The function gives up first, to answer for itself; 29 s is the most that an HTTP API waits.
INTEGRATION_MARGIN_SECONDS = 1
# Nothing that identifies a person: the function's own log tells callers apart by a hash, which this would undo.
ACCESS_LOG_FIELDS = {
    "request_id": "$context.requestId",
    "time": "$context.requestTimeEpoch",
    "route": "$context.routeKey",
    "status": "$context.status",
    "milliseconds": "$context.responseLatency",
    "integration_milliseconds": "$context.integrationLatency",
    "bytes": "$context.responseLength",
    # Why the gateway itself refused a request, such as one with a wrong signature.
    "error": "$context.error.message",
    "authorizer_error": "$context.authorizer.error",
    "integration_error": "$context.integrationErrorMessage",
}


class AgentApi(Construct):
    """The API in front of the function: `api`, its `url`, and `public_route`, the one that needs no credentials."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        target: lambda_.IFunction,
        key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.api = apigateway.HttpApi(
            self,
            "Api",
            api_name=config.name,
            create_default_stage=False,
            default_authorizer=_authorizer(config),
            cors_preflight=_cors(config),
        )
        self._add_stage(config, key)
        integration = integrations.HttpLambdaIntegration(
            "Function",
            target,
            payload_format_version=apigateway.PayloadFormatVersion.VERSION_2_0,
            timeout=cdk.Duration.seconds(gateway_seconds(config)),
        )
        scopes = list(config.jwt_scopes) if config.jwt_scopes else None
        for route in CLOSED_ROUTES:
            self._add_route(route, integration, None, scopes)
        self.public_route = self._add_route(PUBLIC_ROUTE, integration, apigateway.HttpNoneAuthorizer())
        self.url = self.api.api_endpoint
        warn_if_open(self, config)

    def _add_route(
        self,
        route: str,
        integration: apigateway.HttpRouteIntegration,
        authorizer: apigateway.IHttpRouteAuthorizer | None,
        scopes: list[str] | None = None,
    ) -> apigateway.HttpRoute:
        method, path = route.split(" ")
        [made] = self.api.add_routes(
            path=path,
            methods=[apigateway.HttpMethod[method]],
            integration=integration,
            authorizer=authorizer,
            authorization_scopes=scopes,
        )
        return made

    def _add_stage(self, config: Config, key: kms.IKey | None) -> None:
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
        # Groups elsewhere each take room in a policy of the account, which ends at 5,120 characters ("Enable logging from AWS
        # services" in the CloudWatch Logs User Guide).
        name = f"/aws/vendedlogs/apis/{config.name}"
        access_log = log_group(self, "AccessLog", config.log_retention_days, key, name=name)
        resource = stage.node.default_child
        assert isinstance(resource, apigateway.CfnStage)
        resource.access_log_settings = apigateway.CfnStage.AccessLogSettingsProperty(
            destination_arn=access_log.log_group_arn, format=json.dumps(ACCESS_LOG_FIELDS)
        )


def warn_if_open(api: Construct, config: Config) -> None:
    """Says so where the API lets anybody in."""
    if config.auth == "none":
        cdk.Annotations.of(api).add_warning_v2(
            "agent:open-api", "auth=none: anyone who knows the API's address can use the model at your expense"
        )


def gateway_seconds(config: Config) -> int:
    """How long the API waits for the function: as long as that may take where answers stream through a REST API."""
    streams = config.api == "rest" and config.streaming
    return config.timeout_seconds if streams else config.http_timeout_seconds + INTEGRATION_MARGIN_SECONDS


def _authorizer(config: Config) -> apigateway.IHttpRouteAuthorizer:
    if config.auth == "jwt":
        return authorizers.HttpJwtAuthorizer(
            "Tokens", str(config.jwt_issuer), jwt_audience=list(config.jwt_audience or ())
        )
    return authorizers.HttpIamAuthorizer() if config.auth == "iam" else apigateway.HttpNoneAuthorizer()


def _cors(config: Config) -> apigateway.CorsPreflightOptions | None:
    if not config.cors_origins:
        return None
    return apigateway.CorsPreflightOptions(
        allow_origins=list(config.cors_origins),
        allow_methods=[apigateway.CorsHttpMethod[method] for method in CORS_METHODS],
        allow_headers=CORS_HEADERS,
        expose_headers=CORS_EXPOSED,
        max_age=CORS_MAX_AGE,
    )
