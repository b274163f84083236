"""The description of the HTTP API (OpenAPI 3.1), made from the function's own lists of routes and errors.

`python -m local openapi` prints it; the function answers GET /openapi.json with the file that was made so. Imports the core,
which is no package: `local.function.importable` makes it one that can be imported.
"""

from typing import Any

from agent.edge.requests import MAX_APPROVALS, MAX_QUESTION_CHARS
from agent.edge.responses import STATUS
from agent.edge.routes import ROUTES
from agent.messages import Usage

Schema = dict[str, Any]


def _object(properties: dict[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _named(schema: str) -> Schema:
    return {"$ref": f"#/components/schemas/{schema}"}


_ID = {"type": "string", "pattern": "^[A-Za-z0-9._:@-]{1,128}$"}
_ID_OR_NONE = {**_ID, "type": ["string", "null"]}
_TEXT, _COUNT, _TIME = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "string", "format": "date-time"}
_APPROVAL = {
    "approval_id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "tool_use_id": _TEXT,
    "tool": _TEXT,
    "input": {"type": "object"},
    "expires_at": _TIME,
}
_TURN = {
    "stop_reason": _TEXT,
    "usage": _named("Usage"),
    "tool_uses": _list(_object({"name": _TEXT, "status": {"enum": ["success", "error"]}, "milliseconds": _COUNT})),
    "approvals": _list(_object(_APPROVAL)),
}
_SCHEMAS = {
    "Question": _object(
        {
            "question": {"type": "string", "pattern": "\\S", "description": f"up to {MAX_QUESTION_CHARS:,} characters"},
            "session_id": {**_ID_OR_NONE, "description": "left out: a new session begins, and the answer names it"},
            "request_id": {**_ID_OR_NONE, "description": "a retry with the same one gets the first answer"},
        },
        optional=("session_id", "request_id"),
    ),
    "Decisions": _object(
        {
            "approvals": {
                "type": "object",
                "minProperties": 1,
                "maxProperties": MAX_APPROVALS,
                "propertyNames": _APPROVAL["approval_id"],
                "additionalProperties": {
                    "anyOf": [
                        {"type": "boolean"},
                        _object({"approved": {"type": "boolean"}, "reason": _TEXT}, optional=("reason",)),
                    ]
                },
            },
            "caller": {
                **_ID_OR_NONE,
                "description": "whose session it is, as GET /approvals names it; left out: one's own",
            },
        },
        optional=("caller",),
    ),
    "Answer": _object(
        {
            "answer": {"type": "string", "minLength": 1},
            "session_id": _ID,
            "turn": {"type": "integer", "minimum": 1},
            "steps": _COUNT,
            "model_id": _TEXT,
            **_TURN,
            "saved": {"type": "boolean", "description": "there, and false, where the answer could not be stored"},
        },
        optional=("approvals", "saved"),
    ),
    "Usage": _object(dict.fromkeys(Usage().as_dict(), _COUNT)),
    "Session": _object(
        {
            "session_id": _ID,
            "turns": _list(
                _object(
                    {"turn": _COUNT, "question": _TEXT, "answer": _TEXT, "created_at": _TIME, **_TURN},
                    optional=("approvals",),
                )
            ),
        }
    ),
    "Waiting": _object(
        {
            "approvals": _list(_object({"session_id": _ID, "caller": _TEXT, **_APPROVAL, "since": _TIME})),
            "next": {"type": "string", "description": "for the next page; missing at the end"},
        },
        optional=("next",),
    ),
    "Error": _object({"error": _object({"code": {"enum": sorted(STATUS)}, "message": _TEXT}), "request_id": _TEXT}),
}
_OF_A_TURN = (
    "invalid_request",
    "payload_too_large",
    "session_busy",
    "model_throttled",
    "model_error",
    "model_unavailable",
    "storage_unavailable",
    "out_of_time",
)
# action -> what it does, its answer, and its errors beside those of every route
_ACTIONS: dict[str, tuple[str, Schema | None, tuple[str, ...]]] = {
    "chat": ("Ask a question", _named("Answer"), _OF_A_TURN),
    "read": ("Read a session", _named("Session"), ("invalid_request", "not_found", "storage_unavailable")),
    "forget": ("Forget a session", None, ("invalid_request", "session_busy", "storage_unavailable")),
    "approve": ("Decide about tool uses that wait", _named("Answer"), (*_OF_A_TURN, "forbidden", "not_found")),
    "waiting": ("List what waits for a decision", _named("Waiting"), ("invalid_request", "storage_unavailable")),
    "openapi": ("Describe this API", {"type": "object"}, ()),
    "health": ("Tell whether the function runs", _object({"status": {"const": "ok"}}), ()),
}
_OF_EVERY_ROUTE = ("misconfigured", "internal")
_BODIES = {"chat": "Question", "approve": "Decisions"}
_EVENTS = (
    "Server-sent events, where the function streams and the request accepts them: `start`, `text`, `void`, `tool_use`, "
    "`tool_result`; last `answer`, whose data is the plain answer, or `error`."
)


def document() -> dict[str, Any]:
    """The whole description."""
    paths: dict[str, Any] = {}
    for route, action in ROUTES.items():
        method, _, path = route.partition(" ")
        paths.setdefault(path, {})[method.lower()] = _operation(action, path)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Agent", "version": "1", "description": "An agent on AWS Lambda."},
        "paths": paths,
        "components": {"schemas": _SCHEMAS},
    }


def _operation(action: str, path: str) -> dict[str, Any]:
    summary, answer, errors = _ACTIONS[action]
    operation: dict[str, Any] = {
        "operationId": action,
        "summary": summary,
        "responses": _responses(action, answer, errors),
    }
    parameters = []
    if "{session_id}" in path:
        parameters.append({"name": "session_id", "in": "path", "required": True, "schema": _ID})
    if action == "waiting":
        parameters.append({"name": "next", "in": "query", "schema": _TEXT})
    if parameters:
        operation["parameters"] = parameters
    if action in _BODIES:
        content = {"application/json": {"schema": _named(_BODIES[action])}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _responses(action: str, answer: Schema | None, errors: tuple[str, ...]) -> dict[str, Any]:
    if answer is None:
        responses: dict[str, Any] = {"204": {"description": "Done."}}
    else:
        content: dict[str, Any] = {"application/json": {"schema": answer}}
        if action in _BODIES:
            content["text/event-stream"] = {"schema": {"type": "string", "description": _EVENTS}}
        responses = {"200": {"description": "Done.", "content": content}}
    statuses: dict[int, list[str]] = {}
    for code in (*errors, *_OF_EVERY_ROUTE):
        statuses.setdefault(STATUS[code], []).append(code)
    for status, codes in sorted(statuses.items()):
        told = {"description": " or ".join(codes), "content": {"application/json": {"schema": _named("Error")}}}
        if status in (409, 429, 503):
            told["headers"] = {"Retry-After": {"description": "seconds", "schema": _COUNT}}
        responses[str(status)] = told
    return responses
