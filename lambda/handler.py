"""lambda_handler: builds the agent once, answers events. The only place that builds things or reads the environment."""

import logging
import os
import secrets
import time
import traceback
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from aws_lambda_powertools import Logger, Metrics
from botocore.session import Session

from agent import events
from agent.adapters.aws import new_client, new_session
from agent.adapters.bedrock import BedrockModel, Inference, shown
from agent.adapters.dynamodb import DynamoDBStore
from agent.adapters.journal import PowertoolsJournal
from agent.adapters.meter import DynamoDBMeter
from agent.approvals import Approval
from agent.callers import DIRECT, caller_of, new_session_id, session_key
from agent.deadline import Deadline
from agent.errors import AgentError, InternalError, NotFoundError
from agent.loop import Limits
from agent.ports import Model
from agent.requests import Approvals, approvals_of, chat_of
from agent.reservations import Question
from agent.sessions import Sessions
from agent.settings import Settings
from agent.toolbox import Toolbox, ToolLimits
from agent.tools import load_tools

T = TypeVar("T")
_RESERVE = 2.0  # seconds of the function's time that are kept back to save and to answer
_NO_CONTEXT = 900.0  # seconds for a call without a Lambda context: Lambda's own longest
_MODEL_READ = 890.0  # seconds; the turn's deadline bounds a model call long before


class App(msgspec.Struct, frozen=True):
    """Everything that one execution environment builds once."""

    settings: Settings
    sessions: Sessions


def build(settings: Settings, local_key: str, logger: Logger, metrics: Metrics) -> App:
    """The app with these settings; `local_key` is an API key for a laptop, where no secret is named.

    Raises MisconfiguredError, whose detail says what to fix.
    """
    session, threads = new_session(), settings.max_parallel_tools
    dynamodb = new_client(session, "dynamodb", connect_timeout=0.5, read_timeout=1.4, connections=threads)
    tool_limits = ToolLimits(
        settings.tool_timeout_seconds, settings.tool_result_max_chars, settings.max_tool_uses_per_step, threads
    )
    sessions = Sessions(
        models=_models(settings, local_key, session),
        store=DynamoDBStore(dynamodb, settings.table_name),
        toolbox=Toolbox(load_tools(settings.tools), tool_limits),
        journal=PowertoolsJournal(logger, metrics, settings.log_content),
        logger=logging.getLogger(logger.name),
        system=(Path(__file__).parent / "agent" / "system_prompt.md").read_text(encoding="utf-8"),
        limits=Limits(settings.max_steps, settings.turn_token_limit),
        pairs=settings.history_pairs,
        ttl_seconds=settings.session_ttl_days * 24 * 60 * 60,
        new_id=lambda: secrets.token_hex(8),
        approval_seconds=settings.approval_ttl_seconds,
        meter=DynamoDBMeter(dynamodb, settings.table_name) if settings.caller_daily_tokens else None,
        daily_tokens=settings.caller_daily_tokens or 0,
        history_tokens=settings.history_tokens,
    )
    return App(settings, sessions)


def _models(settings: Settings, local_key: str, session: Session) -> list[Model]:
    """The models to ask, in order. Adapters that few use are imported where they are, since importing is most of a cold start."""
    inference = Inference(
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        top_p=settings.top_p,
        guardrail=(settings.guardrail_id, settings.guardrail_version) if settings.guardrail_id else None,
        request_fields=settings.model_request_fields,
        prompt_caching=settings.prompt_caching == "auto",
    )
    ids = list(dict.fromkeys((settings.model_id, *settings.fallback_model_ids)))
    threads = settings.max_parallel_tools
    models: list[Model]
    if settings.model_provider == "openai":
        from agent.adapters.openai import OpenAIModel
        from agent.adapters.secrets import Secret

        key: Callable[[], str] = partial(str, local_key)
        if settings.openai_api_key_secret:
            client = new_client(session, "secretsmanager", connect_timeout=1, read_timeout=3, connections=1)
            key = Secret(client, settings.openai_api_key_secret)
        models = [OpenAIModel(settings.openai_base_url, each, key, inference) for each in ids]
    else:
        client = new_client(
            session, "bedrock-runtime", connect_timeout=3, read_timeout=_MODEL_READ, connections=threads
        )
        models = [BedrockModel(client, each, inference.for_model(each, settings.model_id)) for each in ids]
    if settings.model_tool_use == "react":
        from agent.adapters.react import ReActModel

        models = [ReActModel(model) for model in models]
    return models


class Function:
    """One execution environment: the app, or why there is none, and the edge where every failure gets its answer."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Never raises: a bad setting is logged here, and answers every event."""
        service = environment.get("POWERTOOLS_SERVICE_NAME") or "agent"
        settings, self._failure = _attempt(lambda: Settings.from_environment(environment))
        # a bad level is among the settings, and must not keep its own log line from being written
        self._logger = Logger(service=service) if settings else Logger(service=service, level="INFO", sampling_rate=0.0)
        metrics = Metrics(service=service, namespace=environment.get("POWERTOOLS_METRICS_NAMESPACE") or "agent")
        self._journal = PowertoolsJournal(self._logger, metrics, log_content=False)
        self._app: App | None = None
        if settings:
            self._app, self._failure = _attempt(
                lambda: build(settings, environment.get("OPENAI_API_KEY", ""), self._logger, metrics)
            )
        if self._failure:
            self._journal.failure(self._failure, shown(environment.get("MODEL_ID", "")), request_id="")

    def answer(self, event: object, context: Any) -> tuple[dict[str, Any] | None, AgentError | None]:
        """The response to an event, or the error to raise from the handler itself."""
        if events.is_warm_up(event):
            return {"warm": True}, None
        invocation = str(getattr(context, "aws_request_id", "") or uuid.uuid4())
        self._logger.append_keys(function_request_id=invocation)
        request, error = _attempt(lambda: events.http_request(event))
        answer: dict[str, Any] | None = None
        if request:
            answer, error = _attempt(lambda: self._http(request, invocation, context))
        elif error is None:
            answer, error = _attempt(lambda: self._direct(event, invocation, context))
        if error is None:
            return answer, None
        self._journal.failure(error, shown(self._app.settings.model_id) if self._app else "", invocation)
        body = events.error_body(error, invocation)
        if request:
            origins = self._app.settings.cors_origins if self._app else ()
            status, headers = events.STATUS[error.code], events.error_headers(error)
            return events.http_response(request, status, body, origins, headers), None
        if error.code in events.RETURNED:
            return body, None
        return None, error.with_traceback(None)

    def _http(self, request: events.HttpRequest, invocation: str, context: Any) -> dict[str, Any]:
        found = events.match(request)
        origins = self._app.settings.cors_origins if self._app else ()
        if found.action == "preflight":
            return events.http_response(request, 204, None, origins)
        app = self._running()
        if found.action == "health":
            return events.http_response(request, 200, {"status": "ok"}, origins)
        caller = caller_of(request.context, app.settings.caller_identity)
        key = session_key(caller, found.session_id)
        match found.action:
            case "chat":
                answer = self._chat(events.body_of(request), request, invocation, context)
            case "read":
                answer = {"session_id": found.session_id, "turns": app.sessions.read(key)}
            case "forget":
                app.sessions.forget(key)
                return events.http_response(request, 204, None, origins)
            case _:
                said = approvals_of(events.body_of(request), found.session_id)
                answer = self._approve(said, request, context)
        return events.http_response(request, 200, answer, origins)

    def _direct(self, event: object, invocation: str, context: Any) -> dict[str, Any]:
        if isinstance(event, dict) and "approvals" in event and "question" not in event:
            return self._approve(approvals_of(event), None, context)
        return self._chat(event, None, invocation, context)

    def _approve(self, said: Approvals, request: events.HttpRequest | None, context: Any) -> dict[str, Any]:
        app = self._running()
        approver = caller_of(request.context, app.settings.caller_identity) if request else DIRECT
        caller = approver if said.caller is None else said.caller
        # whoever may invoke the function itself may name any session
        if request and caller != approver and approver not in app.settings.approvers:
            raise NotFoundError("Nothing in this session waits for approval.")
        return app.sessions.approve(
            Approval(
                key=session_key(caller, said.session_id),
                session_id=said.session_id,
                caller=caller,
                approver=approver,
                verdicts=said.verdicts,
                deadline=_deadline(request, context, app.settings.http_timeout_seconds),
            )
        )

    def _chat(self, value: object, request: events.HttpRequest | None, invocation: str, context: Any) -> dict[str, Any]:
        app = self._running()
        chat = chat_of(value)
        caller = caller_of(request.context, app.settings.caller_identity) if request else DIRECT
        request_id = chat.request_id or invocation
        session_id = chat.session_id or new_session_id(caller, request_id)
        return app.sessions.ask(
            Question(
                key=session_key(caller, session_id),
                session_id=session_id,
                request_id=request_id,
                caller=caller,
                text=chat.question,
                deadline=_deadline(request, context, app.settings.http_timeout_seconds),
            )
        )

    def _running(self) -> App:
        if self._app is None:
            raise self._failure or InternalError()
        return self._app


def _deadline(request: events.HttpRequest | None, context: Any, http_seconds: float) -> Deadline:
    left = (context.get_remaining_time_in_millis() / 1000 if context else _NO_CONTEXT) - _RESERVE
    return Deadline.after(left if request is None else events.seconds_left(request, left, http_seconds, time.time()))


def _attempt(call: Callable[[], T]) -> tuple[T | None, AgentError | None]:
    try:
        return call(), None
    except AgentError as error:
        return None, error
    except Exception as error:  # noqa: BLE001 - the edge: whatever went wrong, the caller gets a documented answer
        # the text of a foreign error may hold what users said: the log gets its class and the places alone
        places = "".join(traceback.format_tb(error.__traceback__))
        return None, InternalError(detail=f"{type(error).__name__}\n{places}")


_FUNCTION = Function(os.environ)


def lambda_handler(event: Any, context: Any) -> dict[str, Any] | None:
    """Answers a Lambda event; see README.md for events and answers. Raises an AgentError only to direct invocations."""
    response, error = _FUNCTION.answer(event, context)
    if error is not None:
        raise error from None
    return response
