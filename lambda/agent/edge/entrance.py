"""What stands behind the edge: the app, or why there is none, and what both edges ask of it."""

import time
from typing import Any

import msgspec

from agent.deadline import Deadline
from agent.edge.callers import ANONYMOUS, DIRECT, new_session_id, session_key
from agent.edge.events import HttpRequest, seconds_left
from agent.edge.requests import Approvals, chat_of
from agent.errors import AgentError, ForbiddenError, InternalError, NotFoundError
from agent.listening import Listener
from agent.sessions.approvals import DIRECT as BY_DIRECT
from agent.sessions.approvals import Approval
from agent.sessions.inbox import Inbox
from agent.sessions.leases import Question
from agent.sessions.sessions import Sessions
from agent.settings import Settings

# Seconds of the function's time that are kept back to save, and to answer
_TO_SAVE, _TO_ANSWER = 1.5, 0.5
_GATEWAY_WAITS = 0.5  # seconds beyond HTTP_TIMEOUT_SECONDS: API Gateway gives up a second later
# A REST API that streams drops what is silent for five minutes (API Gateway's guide, "Response transfer mode").
_SILENCE = 290.0
_NO_CONTEXT = 900.0  # seconds for a call without a Lambda context: Lambda's own longest


class App(msgspec.Struct, frozen=True):
    """Everything that one execution environment builds once."""

    settings: Settings
    sessions: Sessions
    inbox: Inbox


class Call(msgspec.Struct, frozen=True):
    """One invocation: its id, its Lambda context (None outside Lambda), who calls, the HTTP request, if it is one, and who
    listens to its turn.
    """

    invocation: str
    context: Any
    caller: str
    request: HttpRequest | None = None
    listener: Listener | None = None


class Entrance(msgspec.Struct, frozen=True):
    """The app, or the failure that answers every event in its place; `origins` may read answers from a browser."""

    app: App | None
    failure: AgentError | None
    origins: tuple[str, ...] = ()

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
        answer = app.sessions.ask(
            Question(
                key=session_key(call.caller, session_id),
                session_id=session_id,
                request_id=request_id,
                caller=call.caller,
                text=chat.question,
                deadline=_deadline(call, app.settings),
                listener=call.listener,
            )
        )
        if call.listener:  # to a request that was answered before, too
            call.listener.start(session_id, request_id, answer["turn"])
        return answer

    def admit_approver(self, call: Call) -> None:
        """Raises ForbiddenError for who may not decide; whoever may invoke the function itself may."""
        approvers = self.running().settings.approvers
        if call.request and approvers and call.caller not in approvers:
            raise ForbiddenError

    def waiting(self, after: str, call: Call) -> dict[str, Any]:
        """What waits for this caller to decide, after the `next` of a page. Raises InvalidRequestError for what is none."""
        app = self.running()
        approvers = app.settings.approvers
        # without an authorizer the session id is the only secret
        sees = call.caller != ANONYMOUS and (not approvers or call.caller in approvers)
        return app.inbox.page("" if sees and approvers else call.caller, after, sees=sees)

    def approve(self, said: Approvals, call: Call) -> dict[str, Any]:
        """The direct answer to decisions about tool uses that wait. Raises an AgentError where there is none."""
        app = self.running()
        caller = call.caller if said.caller is None else DIRECT if said.caller == BY_DIRECT else said.caller
        # whoever may invoke the function itself may name any session
        if call.request and caller != call.caller and not app.settings.approvers:
            raise NotFoundError("Nothing in this session waits for approval.")
        return app.sessions.approve(
            Approval(
                key=session_key(caller, said.session_id),
                session_id=said.session_id,
                caller=caller,
                approver=call.caller or BY_DIRECT,
                verdicts=said.verdicts,
                deadline=_deadline(call, app.settings),
                listener=call.listener,
            )
        )


def seconds_of(context: Any) -> float:
    """What is left of the function's time."""
    return context.get_remaining_time_in_millis() / 1000 if context else _NO_CONTEXT


def _deadline(call: Call, settings: Settings) -> Deadline:
    whole, request = seconds_of(call.context) - _TO_ANSWER, call.request
    left = whole - _TO_SAVE
    if request is None or request.is_function_url or (request.is_rest and call.listener):
        return Deadline.after(left, reserve=_TO_SAVE)
    patience = _SILENCE if request.is_rest and settings.streaming else settings.http_timeout_seconds
    seconds = seconds_left(request, left, patience, time.time())
    return Deadline.after(seconds, reserve=_TO_SAVE if seconds == left else min(_GATEWAY_WAITS, whole - seconds))
