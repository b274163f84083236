"""The routes: the one list of them, and which of them a request meets."""

from urllib.parse import unquote

import msgspec

from agent.edge.events import HttpRequest
from agent.edge.requests import checked_id
from agent.errors import MethodNotAllowedError, NotFoundError

ROUTES = {
    "POST /chat": "chat",
    "GET /sessions/{session_id}": "read",
    "DELETE /sessions/{session_id}": "forget",
    "POST /sessions/{session_id}/approvals": "approve",
    "GET /approvals": "waiting",
    "GET /openapi.json": "openapi",
    "GET /health": "health",
}


class Matched(msgspec.Struct, frozen=True):
    """What a request asks for: one of the actions of ROUTES or `preflight`, and the session id of its path."""

    action: str
    session_id: str = ""


def match(request: HttpRequest) -> Matched:
    """What the request asks for. Raises NotFoundError or MethodNotAllowedError."""
    segments = [unquote(part) for part in request.path.strip("/").split("/")]
    found = _routes_at(segments)
    if not found and segments[0] == request.stage:  # an HTTP API puts the stage first
        found = _routes_at(segments[1:])
    if not found:  # a custom domain may put its own path first; the gateway's route tells what is behind it
        size = request.route.count("/")
        found = {k: v for k, v in _routes_at(segments[-size:] if size else []).items() if k == request.route}
    if not found:
        raise NotFoundError("There is no such route.")
    methods = tuple(key.split(" ")[0] for key in found)
    if request.method == "OPTIONS":
        return Matched("preflight")
    key = next((key for key in found if key.startswith(request.method + " ")), "")
    if not key:
        raise MethodNotAllowedError(f"This route takes {' and '.join(methods)}.", allowed=(*methods, "OPTIONS"))
    session_id = found[key].get("{session_id}", "")
    if session_id:
        checked_id(session_id, "session_id")
    return Matched(ROUTES[key], session_id)


def _routes_at(segments: list[str]) -> dict[str, dict[str, str]]:
    """The routes whose path has these segments, each with the values of its parameters."""
    found = {}
    for key in ROUTES:
        pattern = key.partition(" /")[2].split("/")
        if len(pattern) == len(segments) and all(
            p in (s, "{session_id}") for p, s in zip(pattern, segments, strict=True)
        ):
            found[key] = {p: s for p, s in zip(pattern, segments, strict=True) if p == "{session_id}"}
    return found
