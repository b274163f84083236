"""Puts the machine-local stack together: a model, a session table in memory, and the function between them."""

import functools
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import boto3
from moto import mock_aws
from moto.core.config import DefaultConfig

from infra.config import Config
from local.aws_server import AWSServer
from local.bedrock.reply import Model
from local.bedrock.script import ScriptError, load_script
from local.bedrock.server import BedrockServer, RecordedRequest
from local.environment import no_proxy, own_region, process_environment, use_bedrock, use_endpoint, use_stand_in
from local.function import LAMBDA, LocalFunction
from local.locking import held
from local.offline.model import BANNER, answer
from local.problem import ProblemError
from local.runtime_api import RuntimeApi
from local.session_table import SessionTable
from local.settings import Start, start_from

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE = "sessions"


@dataclass(frozen=True)
class Choices:
    """What the caller chose. `settings`, by keys of cdk.json or variables, go over cdk.json and this process's environment."""

    settings: Mapping[str, str] = field(default_factory=dict)
    aws: bool = False
    model_url: str | None = None
    model_id: str | None = None
    script: Path | None = None
    keep: Path | None = None
    read_only: bool = False  # what is kept is only looked at
    show_logs: bool = False
    root: Path = LAMBDA


class Asking(Protocol):
    """What can be asked: a stack, or a function that runs elsewhere."""

    def invoke(self, event: Any, on_chunk: Callable[[bytes], object] = ...) -> tuple[Any, bool]:
        """The outcome of a direct event: the answer and True, or an error and False; of one that streams also its chunks."""
        ...


@dataclass(frozen=True)
class Stack:
    """The running stack. `banner` says in a sentence or two what answers."""

    function: LocalFunction
    sessions: SessionTable
    banner: str
    keep: Path | None
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)
    requests: Sequence[RecordedRequest] = ()  # that the stand-in for Bedrock was sent, oldest first
    config: Config = field(default_factory=Config)

    def invoke(self, event: Any, on_chunk: Callable[[bytes], object] = lambda chunk: None) -> tuple[Any, bool]:
        """The function's outcome, and the chunks of an answer that streams.

        Sessions are kept whatever it is: what a tool has done must not be done again.
        """
        try:
            return self.function.invoke(event, on_chunk)
        finally:
            self.save()

    def save(self) -> None:
        """Keep the sessions, if that was chosen."""
        if self.keep:
            with self.one_at_a_time:  # the file must not be written while the table changes
                self.sessions.save(self.keep)


@contextmanager
def local_stack(
    choices: Choices,
    *,
    on_record: Callable[[logging.LogRecord], None] | None = None,
    model_server: BedrockServer | None = None,
) -> Iterator[Stack]:
    """Runs the stack within the context; the environment is as before afterwards. Raises ProblemError.

    `on_record` is told of each log record of the function. `model_server` is a stand-in that runs, to be asked in place of the
    offline model.
    """
    start = start_from(choices.settings, choices.root, own_region() if choices.aws else None)
    with ExitStack() as closing:
        if choices.keep and not choices.read_only:
            closing.enter_context(held(choices.keep))
        environment, banner, server = _environment(choices, start, closing, model_server)
        runtime = RuntimeApi("arn:aws:lambda:us-east-1:123456789012:function:agent-local")
        closing.callback(runtime.close)
        tables = closing.enter_context(AWSServer())
        # without --aws nothing leaves this machine: secrets and topics are those that are here, which are none
        here = ("DYNAMODB",) if choices.aws else ("DYNAMODB", "SECRETS_MANAGER", "SNS")
        environment |= {f"AWS_ENDPOINT_URL_{service}": tables.url for service in here}
        environment["AWS_LAMBDA_RUNTIME_API"] = runtime.address
        closing.enter_context(process_environment({**environment, **start.given}))
        closing.enter_context(mock_aws(config=_moto_config(choices.aws)))
        sessions = SessionTable(_client(environment["AWS_DEFAULT_REGION"]), _TABLE)
        if choices.keep:
            sessions.load(choices.keep)
        function = LocalFunction(
            choices.root,
            timeout_seconds=start.config.timeout_seconds,
            on_record=on_record,
            show_logs=choices.show_logs,
            runtime=runtime,
        )
        keep = None if choices.read_only else choices.keep
        yield Stack(
            closing.enter_context(function),
            sessions,
            banner,
            keep,
            tables.one_at_a_time,
            server.requests if server else (),
            start.config,
        )


def _client(region: str) -> "DynamoDBClient":
    return _session().client(
        "dynamodb",
        region_name=region,
        endpoint_url=f"https://dynamodb.{region}.amazonaws.com",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )


@functools.cache
def _session() -> boto3.session.Session:
    """One for all stacks of this process: to make one reads a megabyte of endpoints. All that differs is given to its clients."""
    return boto3.session.Session()


def _environment(
    choices: Choices, start: Start, closing: ExitStack, model_server: BedrockServer | None
) -> tuple[dict[str, str], str, BedrockServer | None]:
    """The function's environment but for what was given, what answers, and a stand-in for it, which lasts until `closing`."""
    provider = "bedrock" if choices.aws else "openai" if choices.model_url is not None else None
    environment = start.environment(provider, os.environ) | {"POWERTOOLS_METRICS_DISABLED": "true"}
    # The log stays on this machine, and the commands show what goes into the tools.
    environment |= {"TABLE_NAME": _TABLE, "LOG_CONTENT": os.environ.get("LOG_CONTENT") or "true", "STREAMING": "true"}
    # Whatever proxy there is, it isn't for this machine.
    environment["NO_PROXY"] = environment["no_proxy"] = no_proxy()
    # The model of cdk.json, where it is one that can be asked here.
    deployed = start.config.model_id if start.config.model_provider == provider else None
    model_id = start.given.get("MODEL_ID") or choices.model_id or deployed
    server = None
    if choices.aws:
        banner = use_bedrock(environment, model_id)
    elif choices.model_url is not None:
        banner = use_endpoint(environment, choices.model_url, model_id)
    else:
        model, banner = _model(choices.script)
        server = model_server or closing.enter_context(BedrockServer(model))
        use_stand_in(environment, server.url, choices.model_id or "local.offline-v1")
    return environment, banner, server


def _model(script: Path | None) -> tuple[Model, str]:
    if script is None:
        return answer, BANNER
    try:
        return load_script(script), f"The model plays the script {script}."
    except ScriptError as error:
        raise ProblemError(str(error)) from error


def _moto_config(aws: bool) -> DefaultConfig:
    """With real Bedrock, moto answers for DynamoDB alone: what else is asked (STS, SSO) must reach AWS too."""
    if not aws:
        return {}
    return {"core": {"mock_credentials": False, "passthrough": {"urls": [r"(?!https://dynamodb\.)"], "services": []}}}
