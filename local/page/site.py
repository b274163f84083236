"""The page's part of a server on this machine: its files, what it asks for, and who may ask at all.

A page elsewhere could else run tools here, by a form, or by a name that it makes lead to this machine: so a request must name
this server as its host, and its origin, if it tells one, must be this server or one that was allowed.
"""

import json
import secrets
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from agent.edge.responses import STATUS
from agent.errors import AgentError
from local.page.backends import Backend
from local.page.views import DIRECT, key_of, sessions_view, turn_view
from local.payload import HttpRequest, HttpResponse
from local.streamed import StreamedAnswer

_FOLDER = Path(__file__).parent
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page/page.css": ("page.css", "text/css; charset=utf-8"),
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = (
    ("cache-control", "no-store"),
    ("content-security-policy", _POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
)
_SECONDS = 910.0  # that an answer may take: Lambda's longest, and a little
_COOKIE = "agent_page"


class Site:
    """Answers what is the page's, and refuses who may not ask; with a token nobody is let in who doesn't know it."""

    def __init__(self, backend: Backend, *, origins: Collection[str] = (), with_token: bool = False) -> None:
        self.token = secrets.token_urlsafe(24) if with_token else ""
        self._backend, self._origins = backend, origins

    def answer(self, request: HttpRequest) -> HttpResponse | None:
        """The response; None for a request that is the function's own."""
        headers = {name.lower(): value for name, value in request.headers}
        host = headers.get("host", "")
        if urlsplit(f"//{host}").hostname not in ("127.0.0.1", "localhost", "::1"):
            return _refusal(403, "forbidden", "This server answers to its own name alone.")
        origin = headers.get("origin", "")
        if origin and origin != f"http://{host}" and not {origin, "*"} & set(self._origins):
            return _refusal(403, "forbidden", "Pages of other origins may not ask here; --cors allows one.")
        url = urlsplit(request.target)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        if self.token:
            if secrets.compare_digest(query.get("token", ""), self.token):
                cookie = f"{_COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                return HttpResponse(303, (*_HEADERS, ("location", "/"), ("set-cookie", cookie)), b"")
            if f"{_COOKIE}={self.token}" not in headers.get("cookie", "").split("; "):
                return _refusal(403, "forbidden", "Open the address that was printed: it holds a token.")
        if request.method == "GET" and url.path in _FILES:
            name, kind = _FILES[url.path]
            return HttpResponse(200, (*_HEADERS, ("content-type", kind)), (_FOLDER / name).read_bytes())
        if url.path == "/favicon.ico":
            return HttpResponse(204, _HEADERS, b"")
        if not url.path.startswith("/page/"):
            return None
        try:
            return self._asked(request, url.path.removeprefix("/page/"), query)
        except AgentError as error:
            return _refusal(STATUS[error.code], error.code, error.detail or error.message)
        except (ValueError, TypeError, RecursionError):
            return _refusal(400, "invalid_request", "The body is not JSON that this route takes.")

    def _asked(self, request: HttpRequest, path: str, query: dict[str, str]) -> HttpResponse:
        routes: dict[str, Callable[[], HttpResponse]] = {
            "GET about": lambda: _json(self._backend.about()),
            "GET sessions": lambda: _json({"sessions": sessions_view(self._backend.turns())}),
            "GET approvals": lambda: _json({"approvals": self._backend.table.waiting()}),
            "POST chat": lambda: self._streamed(request.body, "question", "session_id", "request_id"),
            "POST approvals": lambda: self._streamed(request.body, "session_id", "approvals", "caller"),
        }
        found = routes.get(f"{request.method} {path}")
        if found:
            return found()
        session_id = unquote(path.removeprefix("sessions/"))
        key = key_of(session_id, query.get("caller") or DIRECT)
        if path.startswith("sessions/") and request.method == "GET":
            return _json(self._session(session_id, key))
        if path.startswith("sessions/") and request.method == "DELETE":
            self._backend.table.forget(key)
            return HttpResponse(204, _HEADERS, b"")
        return _refusal(404, "not_found", "There is nothing here.")

    def _session(self, session_id: str, key: str) -> dict[str, Any]:
        turns, sent = self._backend.table.read(key), self._backend.requests(session_id)
        views = [{**turn_view(turn), "requests": sent.get(turn.turn)} for turn in turns]
        waiting = [
            entry for entry in self._backend.table.waiting() if key_of(entry["session_id"], entry["caller"]) == key
        ]
        if views and waiting:
            views[-1]["approvals"] = waiting
        return {"session_id": session_id, "turns": views}

    def _streamed(self, body: bytes, *names: str) -> HttpResponse:
        asked = json.loads(body)
        if not isinstance(asked, dict):
            raise ValueError("no object")
        event = {name: asked[name] for name in names if name in asked}
        return StreamedAnswer(self._backend.invoke, {**event, "stream": True}).events(_SECONDS, _HEADERS)


def _json(value: Any, status: int = 200) -> HttpResponse:
    content = ("content-type", "application/json; charset=utf-8")
    return HttpResponse(status, (*_HEADERS, content), json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _refusal(status: int, code: str, message: str) -> HttpResponse:
    return _json({"error": {"code": code, "message": message}}, status)
