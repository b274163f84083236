"""Route keys of an HTTP API, such as `GET /sessions/{session_id}`, and which of them a request meets.

Rules: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote


@dataclass(frozen=True)
class Route:
    """One route: `pattern` matches the path as sent, its groups are the path parameters `names` in order."""

    key: str
    method: str
    pattern: re.Pattern[str]
    names: tuple[str, ...]


def compile_routes(keys: Iterable[str]) -> tuple[Route, ...]:
    """The routes of the keys, those that API Gateway would take first in front."""
    return tuple(_route(key) for key in sorted(keys, key=_priority))


def find_route(routes: Iterable[Route], method: str, path: str) -> tuple[Route, Mapping[str, str]] | None:
    """The route for a request and its decoded path parameters, or None where API Gateway answers 404."""
    for route in routes:
        found = route.pattern.fullmatch(path)
        if found and route.method in ("ANY", method):
            return route, dict(zip(route.names, map(unquote, found.groups()), strict=True))
    return None


def _route(key: str) -> Route:
    if key == "$default":
        return Route(key, "ANY", re.compile(".*"), ())
    method, path = key.split(" ", 1)
    segments = [segment for segment in path.split("/") if segment]
    pattern = "".join("/" + _segment_pattern(segment) for segment in segments) or "/"
    names = tuple(segment.strip("{+}") for segment in segments if segment.startswith("{"))
    return Route(key, method, re.compile(pattern), names)


def _segment_pattern(segment: str) -> str:
    if not segment.startswith("{"):
        return re.escape(segment)
    return "(.+)" if segment.endswith("+}") else "([^/]+)"


def _priority(key: str) -> tuple[bool, bool, list[bool], bool]:
    """Full matches before greedy ones, fixed segments before variables, a method before ANY, $default last."""
    method, _, path = key.partition(" ")
    return key == "$default", "+}" in path, [segment.startswith("{") for segment in path.split("/")], method == "ANY"
