"""The edge where answers stream: a function over fakes, and a Runtime API on loopback that takes what it posts."""

from __future__ import annotations

import itertools
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from agent.adapters.runtime import LambdaRuntime
from agent.edge.entrance import App, Entrance
from agent.edge.function import Function
from agent.edge.streams import Streams
from agent.errors import AgentError
from agent.ports import Model
from agent.sessions.inbox import Inbox
from agent.sessions.sessions import Sessions
from agent.settings import Settings
from agent.tooling.tool import tool
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn.loop import Limits
from local.runtime_api import PRELUDE_END, Invocation, Outcome, RuntimeApi
from tests.agent.edge.gateway_events import events_of
from tests.agent.edge.whole_function import ENVIRONMENT
from tests.fakes import FakeContext, FakeJournal, FakeModel, FakeStore

_serial = itertools.count(1)


@tool
def echo(text: str = "echo") -> str:
    """Say it again."""
    return text


@tool(needs_approval=True)
def refund(order: str) -> str:
    """Give the money back."""
    return f"refunded {order}"


@dataclass
class Sent:
    """What became of one event: what the handler returned or raised, and what the Runtime API got."""

    returned: Any
    raised: AgentError | None
    chunks: list[bytes]
    outcome: Outcome | None  # None where nothing was posted

    @property
    def body(self) -> bytes:
        """What was streamed, without the prelude."""
        return b"".join(self.chunks).partition(PRELUDE_END)[2] if self.has_prelude else b"".join(self.chunks)

    @property
    def has_prelude(self) -> bool:
        """Whether it began with status and headers."""
        return PRELUDE_END in b"".join(self.chunks)

    @property
    def prelude(self) -> dict[str, Any]:
        """Status and headers."""
        assert self.has_prelude
        return dict(json.loads(b"".join(self.chunks).partition(PRELUDE_END)[0]))

    @property
    def events(self) -> list[tuple[str, Any]]:
        """The events, comments left out."""
        return events_of(self.body)

    @property
    def names(self) -> list[str]:
        """The events' names, those in a row but once."""
        return [name for name, _ in itertools.groupby(name for name, _ in self.events)]


@dataclass
class Failures:
    """Remembers what was not answered."""

    codes: list[str] = field(default_factory=list)
    raised: list[bool] = field(default_factory=list)

    def begin(self, invocation: str) -> None:
        """Nothing to remember."""

    def failure(self, error: AgentError, model_id: str, request_id: str, *, raised: bool = False) -> None:
        self.codes.append(error.code)
        self.raised.append(raised)


@dataclass
class Stage:
    """A function that streams, and what it told."""

    function: Function
    api: RuntimeApi
    store: FakeStore
    journal: FakeJournal
    failures: Failures
    warnings: list[str]

    def send(
        self,
        event: Any,
        *,
        seconds: float = 60,
        on_chunk: Callable[[bytes], object] | None = None,
        request_id: str = "",
    ) -> Sent:
        """Has the function answer an event, as Lambda would; the time of its context stands still."""
        chunks: list[bytes] = []

        def take(chunk: bytes) -> None:
            chunks.append(chunk)
            if on_chunk:
                on_chunk(chunk)

        context = FakeContext(request_id or f"invocation-{next(_serial)}", seconds)
        invocation = Invocation(b"", 0, take, request_id=context.aws_request_id)
        self.api.expect(invocation)
        returned, raised = self.function.answer(event, context)
        posted = self.api.take(context.aws_request_id) is None
        return Sent(returned, raised, chunks, invocation.outcome.result(10) if posted else None)


@contextmanager
def stage(
    *replies: Any, models: Iterable[Model] = (), quiet: float = 8.0, broken: str = "", **environment: str
) -> Iterator[Stage]:
    """A function whose model has these replies. Afterwards no thread of it may be left."""
    before = set(threading.enumerate())
    api = RuntimeApi("arn:aws:lambda:us-east-1:123456789012:function:agent")
    warnings: list[str] = []

    def warn(message: str, **fields: object) -> None:
        warnings.append(f"{message} {fields}")

    settings = Settings.from_environment({**ENVIRONMENT, "STREAMING": "true", **environment})
    store, journal, failures = FakeStore(), FakeJournal(), Failures()
    sessions = Sessions(
        models=list(models) or [FakeModel(replies)],
        store=store,
        toolbox=Toolbox([echo, refund], ToolLimits()),
        journal=journal,
        logger=logging.getLogger("agent"),
        system="Be brief.",
        limits=Limits(),
        pairs=10,
        ttl_seconds=86_400,
        new_id=lambda: f"lease {next(_serial)}",
    )
    runtime = LambdaRuntime({"AWS_LAMBDA_RUNTIME_API": broken or api.address}, warn)
    function = Function(
        Entrance(App(settings, sessions, Inbox(store, time.time)), None, settings.cors_origins),
        failures,
        Streams(runtime.open, warn, quiet).of,
    )
    try:
        yield Stage(function, api, store, journal, failures, warnings)
    finally:
        api.close()
    left = [thread for thread in set(threading.enumerate()) - before if "process_request" not in thread.name]
    assert not [thread.name for thread in left if thread.is_alive()]
