"""The HTTP edge: what a route asks for, done, with its status and headers."""

import json
from pathlib import Path
from typing import Any

from agent.edge.callers import caller_of, session_key
from agent.edge.entrance import Call, Entrance
from agent.edge.events import HttpRequest, body_of
from agent.edge.requests import approvals_of
from agent.edge.responses import STATUS, error_body, error_headers, http_response
from agent.edge.routes import match
from agent.errors import AgentError
from agent.listening import Listener

_DESCRIPTION = Path(__file__).with_name("openapi.json")  # made by `python -m local openapi`


def respond(
    entrance: Entrance, request: HttpRequest, invocation: str, context: Any, listener: Listener | None = None
) -> dict[str, Any]:
    """The gateway's response to a request. Raises an AgentError, which `refuse` turns into one."""
    found, origins = match(request), entrance.origins
    if found.action == "preflight":
        return http_response(request, 204, None, origins)
    app = entrance.running()
    if found.action == "health":
        return http_response(request, 200, {"status": "ok"}, origins)
    if found.action == "openapi":
        return http_response(request, 200, json.loads(_DESCRIPTION.read_text(encoding="utf-8")), origins)
    call = Call(invocation, context, caller_of(request.context, app.settings.caller_identity), request, listener)
    key = session_key(call.caller, found.session_id)
    match found.action:
        case "chat":
            answer = entrance.ask(body_of(request), call)
        case "read":
            answer = {"session_id": found.session_id, "turns": app.sessions.read(key)}
        case "waiting":
            answer = entrance.waiting(request.query.get("next", ""), call)
        case "forget":
            app.sessions.forget(key)
            return http_response(request, 204, None, origins)
        case _:
            entrance.admit_approver(call)  # before anything is read
            answer = entrance.approve(approvals_of(body_of(request), found.session_id), call)
    return http_response(request, 200, answer, origins)


def refuse(entrance: Entrance, request: HttpRequest, error: AgentError, invocation: str) -> dict[str, Any]:
    """The gateway's response where a request failed."""
    body, headers = error_body(error, invocation), error_headers(error)
    return http_response(request, STATUS[error.code], body, entrance.origins, headers)
