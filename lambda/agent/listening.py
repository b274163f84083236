"""Who is told what while it happens: who listens to a turn, whom it waits for, and of what failed. Adapters fulfil it."""

from collections.abc import Sequence
from typing import Any, Protocol

from agent.deadline import Deadline
from agent.errors import AgentError
from agent.ports import TextListener, ToolCall, ToolRecord


class Listener(TextListener, Protocol):
    """Hears one turn while it runs. A step is a call of the model, counted from 1, and the tools that it asked for."""

    @property
    def first_text(self) -> float | None:
        """Seconds until the first text was told, None before."""
        ...

    def start(self, session_id: str, request_id: str, turn: int) -> None:
        """The turn is reserved, or was answered before; the same request id gets its answer again. Told once."""
        ...

    def begin(self, step: int) -> None:
        """What is heard from now on is of this step."""
        ...

    def end(self, said: str) -> None:
        """The model's reply is whole, and this is what a person is shown of it; blank where none of it counts."""
        ...

    def tool_use(self, call: ToolCall) -> None:
        """A tool begins to run."""
        ...

    def tool_result(self, record: ToolRecord) -> None:
        """A tool use was answered."""
        ...


class Outlet(Protocol):
    """The way out of one streamed response, to a reader who may be slow. `write` and `close` raise OSError where it is broken."""

    def write(self, data: bytes) -> None:
        """Sends this, waiting for the reader."""
        ...

    def close(self) -> None:
        """Ends the response well."""
        ...

    def cut(self) -> None:
        """Ends it as broken, from any thread; a write that waits raises then."""
        ...


class Announcer(Protocol):
    """Who is told that a turn begins to wait for a person."""

    def announce(self, session_id: str, caller: str, approvals: Sequence[dict[str, Any]], deadline: Deadline) -> None:
        """These `approvals` of an answer wait; `caller` is a hash, `anonymous` or `direct`.

        Raises StorageUnavailableError or MisconfiguredError where nobody could be told before the deadline.
        """
        ...


class Failures(Protocol):
    """Where it is told that a request could not be answered."""

    def begin(self, invocation: str) -> None:
        """An invocation begins; what is told until the next one is of it."""
        ...

    def failure(self, error: AgentError, model_id: str, request_id: str, *, raised: bool = False) -> None:
        """A request was not answered; `raised`: its error leaves the function, so that Lambda counts it too."""
        ...
