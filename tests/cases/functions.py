"""Variants of the whole function: with tools of the test's own, over servers of the test's own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from msgspec.structs import replace

from agent.edge.function import Function
from agent.tooling.tool import Tool
from agent.tooling.toolbox import Toolbox, ToolLimits
from handler import start
from tests.agent.edge.whole_function import TRIAL, Whole, least_environment

_serial = itertools.count(1)


@contextmanager
def offering(whole: Whole, *tools: Tool[..., Any], limits: ToolLimits | None = None) -> Iterator[Whole]:
    """The function with these tools and no others."""
    function = whole.function
    before = function.entrance
    assert before.app
    sessions = replace(before.app.sessions, toolbox=Toolbox(tools, limits or ToolLimits()))
    function.entrance = replace(before, app=replace(before.app, sessions=sessions))
    try:
        yield whole
    finally:
        function.entrance = before


def function_over(bedrock: str = "", dynamodb: str = "", **environment: str) -> Function:
    """A function whose services are at these addresses, with a logger of its own; blank: as the test has it."""
    urls = {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock, "AWS_ENDPOINT_URL_DYNAMODB": dynamodb}
    name = {"POWERTOOLS_SERVICE_NAME": f"over-{next(_serial)}"}
    with mock.patch.dict(os.environ, {variable: url for variable, url in urls.items() if url}):
        return start(least_environment(**name, **environment), TRIAL)
