"""One execution environment as Lambda calls it: every event gets its answer here, and every failure its documented one."""

import secrets
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from agent.edge import direct, http
from agent.edge.entrance import Entrance, seconds_of
from agent.edge.events import HttpRequest, http_request, is_warm_up
from agent.edge.responses import RETURNED, error_body
from agent.errors import AgentError, InternalError
from agent.listening import Failures, Listener

T = TypeVar("T")


class Way(Protocol):
    """How one event is answered where answers stream; `listener` hears its turn."""

    @property
    def listener(self) -> Listener | None: ...

    @property
    def is_open(self) -> bool:
        """Whether a byte was sent, so that nothing can be raised or returned any more."""
        ...

    def end(self, answer: Mapping[str, Any], is_error: bool, seconds: float) -> bool:
        """Sends the answer; False where it must be returned."""
        ...


WayOf = Callable[[object, HttpRequest | None, str, tuple[str, ...]], Way]


class Function:
    """The edge around an entrance; `failures` is told of each request that was not answered. `way_of` is how an event
    is answered where answers stream."""

    def __init__(self, entrance: Entrance, failures: Failures, way_of: WayOf | None = None) -> None:
        self.entrance = entrance
        self._failures = failures
        self._way_of = way_of

    def answer(self, event: object, context: Any) -> tuple[dict[str, Any] | None, AgentError | None]:
        """The response to an event, or the error to raise from the handler itself; neither where it was streamed."""
        if is_warm_up(event):
            return {"warm": True}, None
        invocation = str(getattr(context, "aws_request_id", "") or secrets.token_hex(16))
        self._failures.begin(invocation)
        request, error = attempt(lambda: http_request(event))
        way = self._way_of(event, request, invocation, self.entrance.origins) if self._way_of else None
        listener = way.listener if way else None
        answer: dict[str, Any] | None = None
        if request:
            answer, error = attempt(lambda: http.respond(self.entrance, request, invocation, context, listener))
        elif error is None:
            answer, error = attempt(lambda: direct.respond(self.entrance, event, invocation, context, listener))
        if error:
            app = self.entrance.app
            raised = not (request or error.code in RETURNED or (way and way.is_open))
            self._failures.failure(error, app.settings.model_id if app else "", invocation, raised=raised)
            if raised:
                return None, error.with_traceback(None)
            refused = request and http.refuse(self.entrance, request, error, invocation)
            answer = refused or error_body(error, invocation)
        if way and answer is not None and way.end(answer, error is not None, seconds_of(context)):
            return None, None
        return answer, None


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
