"""Puts the machine-local stack together: a model, a session table in memory, and the function between them."""

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import botocore.session
from moto import mock_aws
from moto.core.config import DefaultConfig

from infra.context import choices as deployed_choices
from local.aws_server import AWSServer
from local.bedrock.reply import Model
from local.bedrock.script import ScriptError, load_script
from local.bedrock.server import BedrockServer
from local.function import LAMBDA, LocalFunction
from local.offline.model import BANNER, answer
from local.problem import ProblemError
from local.session_table import SessionTable

_TABLE = "sessions"
_REGION = "us-east-1"


@dataclass(frozen=True)
class Choices:
    """What the caller chose. `settings` are environment variables of the function and win over all others."""

    settings: Mapping[str, str] = field(default_factory=dict)
    aws: bool = False
    model_url: str | None = None
    model_id: str | None = None
    script: Path | None = None
    keep: Path | None = None
    show_logs: bool = False
    root: Path = LAMBDA


@dataclass(frozen=True)
class Stack:
    """The running stack. `banner` says in a sentence or two what answers."""

    function: LocalFunction
    sessions: SessionTable
    banner: str
    keep: Path | None

    def invoke(self, event: Any) -> tuple[Any, bool]:
        """The function's outcome. Sessions are kept whatever it is: what a tool has done must not be done again."""
        try:
            return self.function.invoke(event)
        finally:
            self.save()

    def save(self) -> None:
        """Keep the sessions, if that was chosen."""
        if self.keep:
            self.sessions.save(self.keep)


@contextmanager
def local_stack(choices: Choices, *, on_record: Callable[[logging.LogRecord], None] | None = None) -> Iterator[Stack]:
    """Runs the stack within the context; the environment is as before afterwards. Raises ProblemError.

    `on_record` is told of each log record of the function.
    """
    with ExitStack() as closing:
        environment = {**os.environ, "TABLE_NAME": _TABLE, "POWERTOOLS_METRICS_DISABLED": "true"}
        environment.setdefault("POWERTOOLS_SERVICE_NAME", "agent")
        # The log stays on this machine, and the commands show what goes into the tools.
        environment.setdefault("LOG_CONTENT", "true")
        # Whatever proxy there is, it isn't for this machine.
        environment["NO_PROXY"] = environment["no_proxy"] = _no_proxy()
        if choices.aws:
            banner = _use_bedrock(environment, choices.model_id or deployed_choices().model_id)
        elif choices.model_url is not None:
            banner = _use_endpoint(environment, choices.model_url, choices.model_id)
        else:
            model, banner = _model(choices.script)
            server = closing.enter_context(BedrockServer(model))
            _use_stand_in(environment, server.url, choices.model_id or "local.offline-v1")
        region = environment["AWS_DEFAULT_REGION"]
        environment["AWS_ENDPOINT_URL_DYNAMODB"] = closing.enter_context(AWSServer()).url
        closing.enter_context(process_environment({**environment, **choices.settings}))
        closing.enter_context(mock_aws(config=_moto_config(choices.aws)))
        client = boto3.client(
            "dynamodb",
            region_name=region,
            endpoint_url=f"https://dynamodb.{region}.amazonaws.com",
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )
        sessions = SessionTable(client, _TABLE)
        if choices.keep:
            sessions.load(choices.keep)
        function = LocalFunction(choices.root, on_record=on_record, show_logs=choices.show_logs)
        yield Stack(closing.enter_context(function), sessions, banner, choices.keep)


def _model(script: Path | None) -> tuple[Model, str]:
    if script is None:
        return answer, BANNER
    try:
        return load_script(script), f"The model plays the script {script}."
    except ScriptError as error:
        raise ProblemError(str(error)) from error


def _use_stand_in(environment: dict[str, str], url: str, model_id: str) -> None:
    _leave_aws(environment)
    environment.update(MODEL_PROVIDER="bedrock", MODEL_ID=model_id, AWS_ENDPOINT_URL_BEDROCK_RUNTIME=url)


def _use_endpoint(environment: dict[str, str], url: str, model_id: str | None) -> str:
    """The key stays where it is, in the caller's own environment."""
    if not model_id:
        raise ProblemError("--model-url needs --model, the model's name at that endpoint.")
    _leave_aws(environment)
    environment.pop("OPENAI_API_KEY_SECRET", None)
    environment.update(MODEL_PROVIDER="openai", MODEL_ID=model_id, OPENAI_BASE_URL=url)
    return f"{model_id} answers, at the endpoint that you chose. Sessions stay on this machine."


def _leave_aws(environment: dict[str, str]) -> None:
    """Nothing of the developer's AWS settings reaches the function."""
    for name in [name for name in environment if name.startswith("AWS_")]:
        del environment[name]
    environment.update(
        AWS_ACCESS_KEY_ID="local",
        AWS_SECRET_ACCESS_KEY="local",
        AWS_REGION=_REGION,
        AWS_DEFAULT_REGION=_REGION,
        AWS_CONFIG_FILE=os.devnull,
        AWS_SHARED_CREDENTIALS_FILE=os.devnull,
        AWS_EC2_METADATA_DISABLED="true",
    )


def _use_bedrock(environment: dict[str, str], model_id: str) -> str:
    """The caller's own credentials and region; what they lack is told before anything is asked."""
    session = botocore.session.Session()
    region = environment.get("AWS_REGION") or session.get_config_variable("region")
    if not region:
        raise ProblemError("No AWS region is set: export AWS_REGION, or choose a profile that has one.")
    if session.get_credentials() is None:
        raise ProblemError("No AWS credentials are found: `aws configure` or `aws sso login` makes some.")
    # The endpoint that local_stack sets for DynamoDB must hold whatever the profile says, or sessions would leave.
    environment.update(AWS_IGNORE_CONFIGURED_ENDPOINT_URLS="false", AWS_ACCOUNT_ID_ENDPOINT_MODE="disabled")
    environment.update(MODEL_PROVIDER="bedrock", MODEL_ID=model_id, AWS_REGION=region, AWS_DEFAULT_REGION=region)
    return f"{model_id} on Amazon Bedrock in {region} answers, at your account's cost. Sessions stay on this machine."


def _moto_config(aws: bool) -> DefaultConfig:
    """With real Bedrock, moto answers for DynamoDB alone: what else is asked (STS, SSO) must reach AWS too."""
    if not aws:
        return {}
    return {"core": {"mock_credentials": False, "passthrough": {"urls": [r"(?!https://dynamodb\.)"], "services": []}}}


def _no_proxy() -> str:
    before = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
    return ",".join(filter(None, ("127.0.0.1,localhost", before)))


@contextmanager
def process_environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Within the context, the environment of this process is just this."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
