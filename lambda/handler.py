"""lambda_handler: builds the agent once from the environment. The only place that builds things; the edge answers events."""

import logging
import os
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aws_lambda_powertools import Logger, Metrics

from agent.adapters.bedrock.caching import has_caching
from agent.adapters.bedrock.model import BedrockModel, Inference
from agent.adapters.dynamodb.index import DynamoDBIndex
from agent.adapters.dynamodb.meter import DynamoDBMeter
from agent.adapters.dynamodb.store import DynamoDBStore
from agent.adapters.journal import PowertoolsJournal
from agent.adapters.mending import MendingModel
from agent.adapters.secrets import Secret, SecretsManager
from agent.adapters.traces import TracedModel, Traces
from agent.aws.client import AWS
from agent.deadline import Deadline
from agent.edge.entrance import App, Entrance
from agent.edge.function import Function, WayOf, attempt
from agent.errors import MisconfiguredError
from agent.listening import Announcer
from agent.ports import Model, SecretStore
from agent.sessions.inbox import Inbox
from agent.sessions.sessions import Sessions
from agent.sessions.tokens import DailyTokens
from agent.settings import Settings, listed
from agent.tooling.offered import load_tools
from agent.tooling.tool_secrets import Vault, declared_secrets
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn.loop import Limits

_OWN = Path(__file__).parent / "my_agent"


def build(
    settings: Settings, own: Path, environment: Mapping[str, str], logger: Logger, metrics: Metrics, traces: Traces
) -> App:
    """The app with these settings and the user's folder.

    Raises MisconfiguredError, whose detail says what to fix.
    """
    aws = AWS(environment)
    dynamodb = aws.client("dynamodb")
    tool_limits = ToolLimits(
        settings.tool_timeout_seconds,
        settings.tool_result_max_chars,
        settings.max_tool_uses_per_step,
        settings.max_parallel_tools,
    )
    journal = PowertoolsJournal(logger, metrics, settings.log_content, traces)
    store = SecretsManager(aws.client("secretsmanager"))
    vault = Vault(declared_secrets(settings.tools, own), environment, store, journal.warning)
    sessions = Sessions(
        models=[TracedModel(model, traces) for model in _models(settings, aws, journal, store)],
        store=DynamoDBStore(dynamodb, settings.table_name),
        toolbox=Toolbox(load_tools(settings.tools, own), tool_limits, vault.of),
        journal=journal,
        logger=logging.getLogger(logger.name),
        system=_system_prompt(own, logger),
        limits=Limits(settings.max_steps, settings.turn_token_limit),
        pairs=settings.history_pairs,
        ttl_seconds=settings.session_ttl_days * 24 * 60 * 60,
        new_id=lambda: secrets.token_hex(16),
        approval_seconds=settings.approval_ttl_seconds,
        tokens=DailyTokens(DynamoDBMeter(dynamodb, settings.table_name), settings.caller_daily_tokens)
        if settings.caller_daily_tokens
        else DailyTokens(),
        history_tokens=settings.history_tokens,
        announcer=_announcer(settings, aws),
    )
    return App(settings, sessions, Inbox(DynamoDBIndex(dynamodb, settings.table_name), time.time))


def _announcer(settings: Settings, aws: AWS) -> Announcer | None:
    if not settings.approval_topic:
        return None
    from agent.adapters.topic import SNSTopic

    return SNSTopic(aws.client("sns"), settings.approval_topic, with_input=settings.log_content)


def _system_prompt(own: Path, logger: Logger) -> str:
    file = own / "system_prompt.md"
    try:
        text = file.read_text(encoding="utf-8-sig") if file.is_file() else ""
    except UnicodeDecodeError as error:
        raise MisconfiguredError(detail=f"{own.name}/{file.name} must be UTF-8: {error}.") from error
    if not text.strip():
        logger.warning(f"no system prompt: {own.name}/{file.name} is missing or blank")
        return ""
    return text


def _models(settings: Settings, aws: AWS, journal: PowertoolsJournal, store: SecretStore) -> list[Model]:
    """The models to ask, in order. Adapters that few use are imported where they are, since importing is most of a cold start."""
    inference = Inference(
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        top_p=settings.top_p,
        guardrail=(settings.guardrail_id, settings.guardrail_version) if settings.guardrail_id else None,
        request_fields=settings.model_request_fields,
        prompt_caching=settings.prompt_caching == "auto",
        family=settings.model_family,
    )
    ids = list(dict.fromkeys((settings.model_id, *settings.fallback_model_ids)))
    models: list[Model]
    if settings.model_provider == "openai":
        from agent.adapters.openai.model import OpenAIModel

        # on a laptop, where no secret is named, the key is in the environment
        key: Callable[[Deadline], str] = lambda _: aws.environment.get("OPENAI_API_KEY", "")  # noqa: E731
        if settings.openai_api_key_secret:
            key = Secret(store, settings.openai_api_key_secret)
        models = [OpenAIModel(aws.transport, settings.openai_base_url, each, key, inference) for each in ids]
    else:
        client = aws.client("bedrock-runtime")
        models = [BedrockModel(client, each, inference.for_model(each, settings.model_id)) for each in ids]
        for each in ids if inference.prompt_caching else ():
            if not has_caching(each):
                journal.warning("PROMPT_CACHING is auto, but this model is asked to cache nothing", detail=each)
    models = [MendingModel(model, journal.warning) for model in models]
    if settings.model_tool_use == "react":
        from agent.adapters.react.model import ReActModel

        models = [ReActModel(model) for model in models]
    return models


def start(environment: Mapping[str, str], own: Path = _OWN) -> Function:
    """The function with this environment, and the user's folder, which lies in one of sys.path.

    Never raises: a bad setting is logged here, and answers every event.
    """
    service = environment.get("POWERTOOLS_SERVICE_NAME") or "agent"
    settings, failure = attempt(lambda: Settings.from_environment(environment))
    # a bad level is among the settings, and must not keep its own log line from being written
    fallback: dict[str, Any] = {} if settings else {"level": "INFO", "sampling_rate": 0.0}
    logger = Logger(service=service, use_rfc3339=True, **fallback)
    metrics = Metrics(service=service, namespace=environment.get("POWERTOOLS_METRICS_NAMESPACE") or "agent")
    traces = Traces(environment)
    journal = PowertoolsJournal(logger, metrics, log_content=False, traces=traces)
    app: App | None = None
    if settings:
        app, failure = attempt(lambda: build(settings, own, environment, logger, metrics, traces))
    if failure:
        journal.failure(failure, environment.get("MODEL_ID", ""), request_id="")
    # read by themselves: the answer that tells of wrong settings streams, too, and a browser may read it
    streams = environment.get("STREAMING", "").strip().lower() == "true"
    entrance = Entrance(app, failure, listed(environment.get("CORS_ORIGINS", "")))
    return Function(entrance, journal, _way_of(environment, journal) if streams else None)


def _way_of(environment: Mapping[str, str], journal: PowertoolsJournal) -> WayOf:
    """How answers stream; imported only where they do."""
    from agent.adapters.runtime import LambdaRuntime
    from agent.edge.streams import Streams

    return Streams(LambdaRuntime(environment, journal.warning).open, journal.warning).of


_FUNCTION = start(os.environ)


def lambda_handler(event: Any, context: Any) -> dict[str, Any] | None:
    """Answers a Lambda event; see README.md for events and answers. Raises an AgentError only to direct invocations."""
    response, error = _FUNCTION.answer(event, context)
    if error is not None:
        raise error from None
    return response
