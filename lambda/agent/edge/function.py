"""One execution environment as Lambda calls it: every event gets its answer here, and every failure its documented one."""

import traceback
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from agent.edge import direct, http
from agent.edge.entrance import Entrance
from agent.edge.events import http_request, is_warm_up
from agent.edge.responses import RETURNED, error_body
from agent.errors import AgentError, InternalError
from agent.ports import Failures

T = TypeVar("T")


class Function:
    """The edge around an entrance; `failures` is told of each request that was not answered."""

    def __init__(self, entrance: Entrance, failures: Failures) -> None:
        self.entrance = entrance
        self._failures = failures

    def answer(self, event: object, context: Any) -> tuple[dict[str, Any] | None, AgentError | None]:
        """The response to an event, or the error to raise from the handler itself."""
        if is_warm_up(event):
            return {"warm": True}, None
        invocation = str(getattr(context, "aws_request_id", "") or uuid.uuid4())
        self._failures.begin(invocation)
        request, error = attempt(lambda: http_request(event))
        answer: dict[str, Any] | None = None
        if request:
            answer, error = attempt(lambda: http.respond(self.entrance, request, invocation, context))
        elif error is None:
            answer, error = attempt(lambda: direct.respond(self.entrance, event, invocation, context))
        if error is None:
            return answer, None
        app = self.entrance.app
        raised = request is None and error.code not in RETURNED
        self._failures.failure(error, app.settings.model_id if app else "", invocation, raised=raised)
        if request:
            return http.refuse(self.entrance, request, error, invocation), None
        return (None, error.with_traceback(None)) if raised else (error_body(error, invocation), None)


def attempt(call: Callable[[], T]) -> tuple[T | None, AgentError | None]:
    """What the call gives, or the AgentError that stands for whatever it raised."""
    try:
        return call(), None
    except AgentError as error:
        return None, error
    except Exception as error:  # noqa: BLE001 - the edge: whatever went wrong, the caller gets a documented answer
        # the text of a foreign error may hold what users said: the log gets its class and the places alone
        places = "".join(traceback.format_tb(error.__traceback__))
        return None, InternalError(detail=f"{type(error).__name__}\n{places}")
