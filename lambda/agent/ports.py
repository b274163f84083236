"""What the core asks of the outside world: a model, a session store, a journal. Adapters fulfil it; fakes do in tests."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

import msgspec

from agent.deadline import Deadline
from agent.messages import Block, Message, Usage


class ModelRequest(msgspec.Struct, frozen=True):
    """One call of the model: a system prompt (may be blank), Converse messages, tool specs (`{"toolSpec": ...}`).

    `about` tells session and turn, for the provider's own log of calls. `stop_sequences` end the text where the model writes one
    of them: at most 4, none blank. Without `sampling` neither temperature nor top_p is sent.
    """

    system: str
    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]]
    stop_sequences: Sequence[str] = ()
    sampling: bool = True
    about: Mapping[str, str] = msgspec.field(default_factory=dict)


class ModelReply(msgspec.Struct, frozen=True):
    """What came back: content blocks as Converse sent them, and who answered. `remark`: what is wrong with it, if anything."""

    content: Sequence[Block]
    stop_reason: str
    usage: Usage
    model_id: str
    remark: str = ""


class TextListener(Protocol):
    """Hears one reply while a model writes it; from any thread."""

    def text(self, text: str) -> None:
        """The model went on with this, for the user."""
        ...

    def void(self) -> None:
        """What was heard of this reply does not count: it begins anew."""
        ...


class Model(Protocol):
    """A language model behind Converse."""

    @property
    def model_id(self) -> str:
        """The model that is asked."""
        ...

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        """One answer before the deadline. What the listener hears as it comes is in the reply, too.

        Raises OutOfTimeError at the deadline, PromptTooLongError, ModelThrottledError, ModelError, ModelUnavailableError
        or MisconfiguredError.
        """
        ...


SHORTENED = (
    "\n[Shortened in the stored copy: "  # begins the note at the end of a text that was too long to be kept whole
)
RUNNING, DONE, WAITING, BLOCKED = "running", "done", "awaiting_approval", "blocked"


class Decision(msgspec.Struct, frozen=True):
    """What a person said of a tool use that waited: who (as in `caller`), and when (ISO 8601, UTC)."""

    approved: bool
    reason: str
    by: str
    at: str


class StoredTurn(msgspec.Struct, frozen=True):
    """One item of the session table. `messages` is None where they were never written or can't be read."""

    key: str
    turn: int
    status: str
    request_id: str = ""
    question: str = ""
    messages: list[Message] | None = None
    response: dict[str, Any] | None = None
    usage: dict[str, int] = msgspec.field(default_factory=dict)
    created_at: str = ""  # ISO 8601, UTC
    lease_id: str = ""
    lease_until: int = 0  # epoch milliseconds
    expires_at: int = 0  # epoch seconds; 0: never, and never before a waiting approval ends
    waiting: str = ""  # while it waits, whose it is: the caller's hash, `anonymous` or `direct`
    waiting_since: str = ""  # ISO 8601, UTC
    random: str = ""  # drawn when it began to wait; part of each approval id
    decisions: dict[str, Decision] = msgspec.field(default_factory=dict)  # by approval id, of all waits of the turn


def seconds_left(lease_until: int, now: float) -> int:
    """What is left of a lease (epoch milliseconds) at `now` (epoch seconds), in whole seconds, at least 1."""
    return max(1, math.ceil(lease_until / 1000 - now))


class Meter(Protocol):
    """Counts the tokens of each caller by day (UTC). May raise StorageUnavailableError or MisconfiguredError."""

    def used(self, caller: str, now: float, deadline: Deadline) -> int:
        """The caller's tokens of the day of `now` (epoch seconds)."""
        ...

    def add(self, caller: str, tokens: int, now: float, deadline: Deadline) -> None:
        """Counts tokens of the caller, atomically."""
        ...


class SessionStore(Protocol):
    """Where turns are kept, one item each. Every method may raise StorageUnavailableError or MisconfiguredError.

    Each ends at its deadline, whatever becomes of it.
    """

    def load(self, key: str, pairs: int, now: float, deadline: Deadline, *, whole: bool = False) -> list[StoredTurn]:
        """The newest turns first: at least `pairs` completed ones that haven't expired at `now` (epoch seconds), if kept.

        Without `whole`, question, response, usage and created_at may be left out.
        """
        ...

    def get(self, key: str, turn: int, deadline: Deadline) -> StoredTurn | None:
        """One turn, whole, or None where it isn't kept."""
        ...

    def reserve(self, turn: StoredTurn, replacing: StoredTurn | None, now: float, deadline: Deadline) -> None:
        """Writes a turn under a new lease, where no item stands or just the one that it replaces, as it was seen. One attempt.

        `now` (epoch seconds) is for telling how long another request still holds the session.
        Raises SessionBusyError where another request was quicker.
        """
        ...

    def lease(self, turn: StoredTurn, seen: StoredTurn, now: float, deadline: Deadline) -> None:
        """Puts the lease of `turn` on a turn as it was seen; it waits for nobody any more where `waiting` is blank. One attempt.

        Raises SessionBusyError where another request was quicker.
        """
        ...

    def save(self, turn: StoredTurn, deadline: Deadline) -> None:
        """Overwrites the turn that we hold. Raises SessionBusyError where we hold it no longer."""
        ...

    def free(self, turn: StoredTurn, deadline: Deadline) -> None:
        """Deletes the turn that we hold; that it is gone is as good. Raises SessionBusyError where another request has it."""
        ...

    def trim(self, key: str, turns: Sequence[int], deadline: Deadline) -> None:
        """Deletes some completed turns, at most 25 of those given."""
        ...

    def forget(self, key: str, now: float, deadline: Deadline) -> None:
        """Deletes the session. Raises SessionBusyError while a turn runs at `now` (epoch seconds)."""
        ...


class SecretStore(Protocol):
    """Where secrets are kept. What was read counts for five minutes, by wall clock."""

    def read(self, name: str, deadline: Deadline) -> str:
        """The text of the secret of this name or ARN, as it stands. Raises an AgentError, whose detail says why it can't."""
        ...


class IndexKey(msgspec.Struct, frozen=True):
    """The key of an entry of the index: `session_id` is the item's key. Bounds are for what a caller sends back."""

    session_id: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    turn: Annotated[int, msgspec.Meta(ge=1, lt=10**15)]
    waiting: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    waiting_since: Annotated[str, msgspec.Meta(min_length=1, max_length=32)]


class WaitingIndex(Protocol):
    """Where turns that wait are found. Both methods may raise StorageUnavailableError or MisconfiguredError."""

    def page(self, caller: str, after: IndexKey | None, deadline: Deadline) -> tuple[list[IndexKey], IndexKey | None]:
        """At most 50 entries after one: of a caller, the oldest first, or of all where that is blank; where the next page begins.

        Raises InvalidRequestError where the one that they are to follow can't be in the index.
        """
        ...

    def turn_and_next(self, key: str, turn: int, deadline: Deadline) -> list[StoredTurn]:
        """That turn of a session, if it is kept, and the one after it, whole; the newest first."""
        ...


class ToolCall(msgspec.Struct, frozen=True):
    """A tool use to answer. `problem` says why it must not be run, in a sentence for the model; else it is blank."""

    tool_use_id: str
    name: str
    input: dict[str, Any]
    problem: str = ""


class ToolRecord(msgspec.Struct, frozen=True):
    """One tool use that was answered. `error` is "" or the kind of failure; `problem` is a tool's bug."""

    tool_use_id: str
    name: str
    status: str
    milliseconds: int
    input: dict[str, Any]
    result: Block
    error: str = ""
    problem: BaseException | None = None


class Journal(Protocol):
    """Where it is told what happened, without what was said."""

    def tool_use(self, session_id: str, record: ToolRecord) -> None:
        """A tool use was answered."""
        ...

    def approval(self, session_id: str, tool_use_id: str, tool: str, approved: bool, by: str) -> None:
        """A person decided about a tool use that waited."""
        ...

    def turn(
        self,
        answer: dict[str, Any],
        question: str,
        request_id: str,
        caller: str,
        seconds: float,
        first_text: float | None = None,
    ) -> None:
        """A turn was run to its answer, in so many seconds, of which `first_text` until a listener heard its first text."""
        ...

    def warning(self, message: str, **fields: object) -> None:
        """Something went wrong that did not stop the turn."""
        ...
