"""The function: its role, logs, failure queue, and the version and alias that SnapStart asks for."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import Config
from infra.cors import CORS_EXPOSED, CORS_HEADERS, CORS_MAX_AGE, CORS_METHODS
from infra.log_group import log_group

# A turn is safe to repeat: Lambda's retries keep the request id, and a completed turn answers from what is stored.
ASYNC_RETRIES = 2
ASYNC_MAX_AGE = cdk.Duration.hours(1)
FAILURES_KEPT_DAYS = 14
ALIAS = "live"


class AgentFunction(Construct):
    """One Lambda function. `target` is what callers invoke: the function, or its alias with SnapStart."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        *,
        code: lambda_.Code,
        environment: Mapping[str, str],
        key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.logs = log_group(self, "Logs", config.log_retention_days, key)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self.logs.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            description=f"{config.name}: an agent on Bedrock, one turn an invocation",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64 if config.architecture == "arm64" else lambda_.Architecture.X86_64,
            handler="handler.lambda_handler",
            code=code,
            role=self.role,
            environment=dict(environment),
            memory_size=config.memory_mb,
            timeout=cdk.Duration.seconds(config.timeout_seconds),
            log_group=self.logs,
            logging_format=lambda_.LoggingFormat.JSON,
            tracing=lambda_.Tracing.ACTIVE if config.tracing else lambda_.Tracing.DISABLED,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if config.snapstart else None,
            reserved_concurrent_executions=config.reserved_concurrency,
        )
        _encrypt(self.function, key)
        self.target: lambda_.IFunction = self.function
        if config.snapstart:
            cdk.Annotations.of(self.function).acknowledge_warning(
                "@aws-cdk/aws-lambda:snapStartRequirePublish", "the alias publishes a version at each change"
            )
            self.target = lambda_.Alias(self, "Alias", alias_name=ALIAS, version=self.function.current_version)
        self.failures = _failure_queue(self, key)
        self.target.configure_async_invoke(
            retry_attempts=ASYNC_RETRIES,
            max_event_age=ASYNC_MAX_AGE,
            on_failure=destinations.SqsDestination(self.failures),
        )
        self.url: str | None = None
        if config.function_url:
            mode = lambda_.InvokeMode.RESPONSE_STREAM if config.streaming else lambda_.InvokeMode.BUFFERED
            self.url = self.target.add_function_url(cors=_cors(config), invoke_mode=mode).url


def _encrypt(function: lambda_.Function, key: kms.IKey | None) -> None:
    """On the resource, since the construct would let the role do more with the key than the table's grant does."""
    resource = function.node.default_child
    assert isinstance(resource, lambda_.CfnFunction)
    if key:
        resource.kms_key_arn = key.key_arn


def _cors(config: Config) -> lambda_.FunctionUrlCorsOptions | None:
    """What the URL itself answers to browsers; their preflights are never signed, so that the function sees none."""
    if not config.cors_origins:
        return None
    return lambda_.FunctionUrlCorsOptions(
        allowed_origins=list(config.cors_origins),
        allowed_methods=[lambda_.HttpMethod[method] for method in CORS_METHODS],
        allowed_headers=CORS_HEADERS,
        exposed_headers=CORS_EXPOSED,
        max_age=CORS_MAX_AGE,
    )


def _failure_queue(scope: Construct, key: kms.IKey | None) -> sqs.Queue:
    """Where asynchronous invocations go that failed to the last: event and error, encrypted, over TLS only."""
    queue = sqs.Queue(
        scope,
        "Failures",
        retention_period=cdk.Duration.days(FAILURES_KEPT_DAYS),
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        removal_policy=cdk.RemovalPolicy.DESTROY,
    )
    if key:
        resource = queue.node.default_child
        assert isinstance(resource, sqs.CfnQueue)
        resource.sqs_managed_sse_enabled = None
        resource.kms_master_key_id = key.key_arn
    return queue
