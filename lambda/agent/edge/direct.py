"""The direct edge: console test events, SDK calls, Step Functions."""

from typing import Any

from agent.edge.callers import DIRECT
from agent.edge.entrance import Call, Entrance
from agent.edge.requests import approvals_of
from agent.errors import InvalidRequestError
from agent.listening import Listener


def respond(
    entrance: Entrance, event: object, invocation: str, context: Any, listener: Listener | None = None
) -> dict[str, Any]:
    """The direct answer to a question or to decisions. Raises an AgentError where there is none."""
    call = Call(invocation, context, DIRECT, listener=listener)
    if isinstance(event, dict) and not isinstance(event.get("stream", False), bool):
        raise InvalidRequestError("stream must be true or false.")
    if isinstance(event, dict) and event.get("stream") and listener is None:
        raise InvalidRequestError("This function does not stream its answers: STREAMING is not true.")
    if isinstance(event, dict) and "approvals" in event and event.get("question") is None:
        return entrance.approve(approvals_of(event), call)
    return entrance.ask(event, call)
