"""The same routes as a REST API, whose integration can stream: what `api: rest` makes in place of the HTTP API."""

import json
import re

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cognito as cognito
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.api import ACCESS_LOG_FIELDS, CLOSED_ROUTES, PUBLIC_ROUTE, gateway_seconds, warn_if_open
from infra.config import Config
from infra.cors import CORS_EXPOSED, CORS_HEADERS, CORS_MAX_AGE, CORS_METHODS
from infra.log_group import log_group
from infra.values import USER_POOL

STAGE = "live"
# REST APIs name a route in two parts.
_ROUTE = "$context.httpMethod $context.resourcePath"


class AgentRestApi(Construct):
    """The API in front of the function: `api`, its `url`, and `public_route`, the one that needs no credentials.

    Regional: an edge-optimised endpoint ends a stream that is silent for 30 s, a regional one after five minutes ("Response
    transfer mode" in the API Gateway Developer Guide).
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        target: lambda_.IFunction,
        key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.api = apigateway.RestApi(
            self,
            "Api",
            rest_api_name=config.name,
            endpoint_types=[apigateway.EndpointType.REGIONAL],
            # without the account's role for it, a stage can't log
            cloud_watch_role=True,
            deploy_options=self._stage(config, key),
            default_cors_preflight_options=_cors(config),
        )
        stack = cdk.Stack.of(self)
        self.url = f"https://{self.api.rest_api_id}.execute-api.{stack.region}.{stack.url_suffix}/{STAGE}"
        integration = apigateway.LambdaIntegration(
            target,
            allow_test_invoke=False,
            timeout=cdk.Duration.seconds(gateway_seconds(config)),
            response_transfer_mode=apigateway.ResponseTransferMode.STREAM if config.streaming else None,
        )
        authorization = self._authorization(config)
        for route in CLOSED_ROUTES:
            self._add_route(route, integration, authorization)
        self.public_route = self._add_route(
            PUBLIC_ROUTE, integration, apigateway.MethodOptions(authorization_type=apigateway.AuthorizationType.NONE)
        )
        warn_if_open(self, config)

    def _add_route(
        self, route: str, integration: apigateway.Integration, options: apigateway.MethodOptions
    ) -> apigateway.Method:
        method, path = route.split(" ")
        return self.api.root.resource_for_path(path).add_method(
            method,
            integration,
            authorization_type=options.authorization_type,
            authorizer=options.authorizer,
            authorization_scopes=options.authorization_scopes,
        )

    def _stage(self, config: Config, key: kms.IKey | None) -> apigateway.StageOptions:
        group = log_group(self, "AccessLog", config.log_retention_days, key, name=f"/aws/vendedlogs/apis/{config.name}")
        return apigateway.StageOptions(
            stage_name=STAGE,
            throttling_rate_limit=config.api_requests_per_second,
            throttling_burst_limit=config.api_burst,
            tracing_enabled=config.tracing,
            logging_level=apigateway.MethodLoggingLevel.ERROR,
            data_trace_enabled=False,
            access_log_destination=apigateway.LogGroupLogDestination(group),
            access_log_format=apigateway.AccessLogFormat.custom(json.dumps({**ACCESS_LOG_FIELDS, "route": _ROUTE})),
        )

    def _authorization(self, config: Config) -> apigateway.MethodOptions:
        """SigV4, a token of the Cognito user pool that jwt_issuer names, or nothing."""
        if config.auth != "jwt":
            kind = "IAM" if config.auth == "iam" else "NONE"
            return apigateway.MethodOptions(authorization_type=apigateway.AuthorizationType[kind])
        found = re.fullmatch(USER_POOL, str(config.jwt_issuer))
        pool = cognito.UserPool.from_user_pool_id(self, "Users", found["pool"] if found else "")
        return apigateway.MethodOptions(
            authorization_type=apigateway.AuthorizationType.COGNITO,
            authorizer=apigateway.CognitoUserPoolsAuthorizer(self, "Tokens", cognito_user_pools=[pool]),
            authorization_scopes=list(config.jwt_scopes) if config.jwt_scopes else None,
        )


def _cors(config: Config) -> apigateway.CorsOptions | None:
    if not config.cors_origins:
        return None
    return apigateway.CorsOptions(
        allow_origins=list(config.cors_origins),
        allow_methods=CORS_METHODS,
        allow_headers=CORS_HEADERS,
        expose_headers=CORS_EXPOSED,
        max_age=CORS_MAX_AGE,
    )
