"""The function behind HTTP, as behind an HTTP API, until interrupted."""

import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from local.foreground import opened, until_interrupted
from local.function import importable
from local.gateway import Gateway, Streaming
from local.screen import Screen
from local.stack import Stack

if TYPE_CHECKING:
    from local.page.site import Site

CALLER_HEADER = "x-caller"
"""Who calls, as a Lambda authorizer in front of the function would tell it."""


def serve(
    stack: Stack, screen: Screen, port: int, origins: Sequence[str], wait: Callable[[str], object] | None = None
) -> int:
    """Serve on 127.0.0.1 until interrupted, or until `wait` (given the URL) is over.

    Returns the exit code. Raises ProblemError if the port is taken.
    """
    with importable():
        from agent.edge.callers import caller_of
        from agent.edge.routes import ROUTES

    # The gateway hands on what the function itself answers to other methods, unless --cors has it answer OPTIONS.
    routes = [*ROUTES, *{f"ANY {key.partition(' ')[2]}": None for key in ROUTES}]
    one_at_a_time = threading.Lock()

    def invoke(event: dict[str, Any]) -> tuple[Any, bool]:
        with one_at_a_time:  # a file must not be written while the table changes
            return stack.invoke(event)

    def listen(method: str, path: str, status: int, seconds: float) -> None:
        screen.line(f"{method} {path}  {status}  {seconds * 1000:.0f} ms", "green" if status < 400 else "red")

    cors = {"AllowOrigins": origins, "AllowMethods": ["*"], "AllowHeaders": ["*"]} if origins else None
    gateway = opened(
        lambda: Gateway(
            invoke,
            routes=routes,
            port=port,
            cors=cors,
            authorizer=_Callers(screen, caller_of).authorize,
            listener=listen,
            streaming=streaming_of(stack),
            before=site_of(stack, origins).answer,
        ),
        port,
    )
    with gateway:
        screen.line(f"Serving on {gateway.url}; Ctrl-C ends it. A change in lambda/ counts from the next request.")
        screen.line(f"The page is at {gateway.url}/: chat, sessions, approvals.")
        screen.line("Who calls is taken from the header X-Caller; without it the caller is anonymous.")
        screen.line(_examples(gateway.url))
        until_interrupted(screen, (lambda: wait(gateway.url)) if wait else signal.pause)
    return 0


def site_of(stack: Stack, origins: Sequence[str]) -> "Site":
    """The page of this function."""
    with importable():
        from local.page.backends import Served
        from local.page.site import Site
    return Site(Served(stack, os.environ, stack.config), origins=origins)


class _Callers:
    """The authorizer: it takes every caller at its word, and tells once how the function names each."""

    def __init__(self, screen: Screen, caller_of: Callable[[Mapping[str, Any], str], str]) -> None:
        self._screen = screen
        self._caller_of = caller_of
        self._told: set[str] = set()

    def authorize(self, event: dict[str, Any]) -> dict[str, Any]:
        """What a Lambda authorizer gives the function of a request."""
        name = event["headers"].get(CALLER_HEADER, "").strip()
        if not name:
            return {}
        authorizer = {"lambda": {"principalId": name}}
        if name not in self._told:
            self._told.add(name)
            known_as = self._caller_of({"authorizer": authorizer}, "session")
            self._screen.line(f"The caller {name} is {known_as} in APPROVERS and in the log.")
        return authorizer


def streaming_of(stack: Stack) -> Streaming:
    """Requests that accept an event stream come to the function as from a function URL, which can stream."""
    with importable():
        from agent.edge.streams import wants_events
    return Streaming(partial(_as_function_url, wants_events), stack.invoke, stack.function.timeout_seconds)


def _as_function_url(wants_events: Callable[[str], bool], event: dict[str, Any]) -> dict[str, Any] | None:
    context = {**event["requestContext"], "domainName": "local.lambda-url.us-east-1.on.aws"}
    return {**event, "requestContext": context} if wants_events(event["headers"].get("accept", "")) else None


def _examples(url: str) -> str:
    body = '{"question": "What is the tangent of 7?", "session_id": "my-session"}'
    return f"""
  curl -s {url}/chat -H 'Content-Type: application/json' -d '{body}'
  curl -sN {url}/chat -H 'Content-Type: application/json' -H 'Accept: text/event-stream' -d '{body}'
  curl -s {url}/sessions/my-session
  curl -s -X DELETE {url}/sessions/my-session
  curl -s {url}/health
"""
