"""The direct edge: console test events, SDK calls, Step Functions."""

from typing import Any

from agent.edge.callers import DIRECT
from agent.edge.entrance import Call, Entrance
from agent.edge.requests import approvals_of


def respond(entrance: Entrance, event: object, invocation: str, context: Any) -> dict[str, Any]:
    """The direct answer to a question or to decisions. Raises an AgentError where there is none."""
    call = Call(invocation, context, DIRECT)
    if isinstance(event, dict) and "approvals" in event and "question" not in event:
        return entrance.approve(approvals_of(event), call)
    return entrance.ask(event, call)
