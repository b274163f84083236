"""What stands behind the edge: the app, or why there is none, and what both edges ask of it."""

import time
from typing import Any

import msgspec

from agent.deadline import Deadline
from agent.edge.callers import new_session_id, session_key
from agent.edge.events import HttpRequest, seconds_left
from agent.edge.requests import Approvals, chat_of
from agent.errors import AgentError, InternalError, NotFoundError
from agent.sessions.approvals import Approval
from agent.sessions.leases import Question
from agent.sessions.sessions import Sessions
from agent.settings import Settings

# Seconds of the function's time that are kept back to save, and to answer
_TO_SAVE, _TO_ANSWER = 1.5, 0.5
_GATEWAY_WAITS = 0.5  # seconds beyond HTTP_TIMEOUT_SECONDS: API Gateway gives up a second later
_NO_CONTEXT = 900.0  # seconds for a call without a Lambda context: Lambda's own longest


class App(msgspec.Struct, frozen=True):
    """Everything that one execution environment builds once."""

    settings: Settings
    sessions: Sessions


class Call(msgspec.Struct, frozen=True):
    """One invocation: its id, its Lambda context (None outside Lambda), who calls, and the HTTP request, if it is one."""

    invocation: str
    context: Any
    caller: str
    request: HttpRequest | None = None


class Entrance(msgspec.Struct, frozen=True):
    """The app, or the failure that answers every event in its place."""

    app: App | None
    failure: AgentError | None

    @property
    def origins(self) -> tuple[str, ...]:
        """CORS_ORIGINS, none where there is no app."""
        return self.app.settings.cors_origins if self.app else ()

    def running(self) -> App:
        """The app. Raises what kept it from being built."""
        if self.app is None:
            raise self.failure or InternalError()
        return self.app

    def ask(self, value: object, call: Call) -> dict[str, Any]:
        """The direct answer to a question. Raises an AgentError where there is none."""
        app, chat = self.running(), chat_of(value)
        request_id = chat.request_id or call.invocation
        session_id = chat.session_id or new_session_id(call.caller, request_id)
        return app.sessions.ask(
            Question(
                key=session_key(call.caller, session_id),
                session_id=session_id,
                request_id=request_id,
                caller=call.caller,
                text=chat.question,
                deadline=_deadline(call, app.settings.http_timeout_seconds),
            )
        )

    def approve(self, said: Approvals, call: Call) -> dict[str, Any]:
        """The direct answer to decisions about tool uses that wait. Raises an AgentError where there is none."""
        app = self.running()
        caller = call.caller if said.caller is None else said.caller
        # whoever may invoke the function itself may name any session
        if call.request and caller != call.caller and call.caller not in app.settings.approvers:
            raise NotFoundError("Nothing in this session waits for approval.")
        return app.sessions.approve(
            Approval(
                key=session_key(caller, said.session_id),
                session_id=said.session_id,
                caller=caller,
                approver=call.caller,
                verdicts=said.verdicts,
                deadline=_deadline(call, app.settings.http_timeout_seconds),
            )
        )


def _deadline(call: Call, http_seconds: float) -> Deadline:
    context = call.context
    whole = (context.get_remaining_time_in_millis() / 1000 if context else _NO_CONTEXT) - _TO_ANSWER
    left = whole - _TO_SAVE
    if not call.request:
        return Deadline.after(left, reserve=_TO_SAVE)
    seconds = seconds_left(call.request, left, http_seconds, time.time())
    return Deadline.after(seconds, reserve=_TO_SAVE if seconds == left else min(_GATEWAY_WAITS, whole - seconds))
