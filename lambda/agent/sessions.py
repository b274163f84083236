"""A session's turns: reserved, run, saved and trimmed, so that no two run at once and none is run twice.

A turn that crashed is taken over. What it had written down before a tool with side effects ran goes along, as calls of unknown
outcome, so that the model knows of them and nobody runs them again unasked.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from logging import Logger
from typing import Any

from agent import history
from agent.deadline import Deadline
from agent.errors import (
    AgentError,
    InvalidRequestError,
    NotFoundError,
    OutOfTimeError,
    SessionBusyError,
    StorageUnavailableError,
)
from agent.loop import Limits, Outcome, Turn
from agent.messages import NO_ANSWER, Message, assistant_text, repair, user_text
from agent.ports import BLOCKED, DONE, RUNNING, SHORTENED, Journal, Model, SessionStore, StoredTurn, seconds_left
from agent.replies import ToolCall
from agent.tool import ToolContext
from agent.toolbox import Toolbox

_LEASE_BEYOND_DEADLINE = 5  # seconds: time to save, and clocks that differ
_QUERY_IS_FRESH = (
    1  # seconds in which a turn must be reserved: later, numbers that were seen free may be taken and gone
)
_SAVING = 1.0  # seconds after the deadline in which further calls may begin; the handler keeps back more
_READING = 6.0  # seconds in which attempts to read a session for a person may begin
_LISTED_BYTES = 2_500_000  # of a listing; Lambda answers at most 6 MB, and writes each quote of a body with a backslash
_TRIMMED_AT_ONCE = 25  # items, DynamoDB's bound of a batch


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and where it belongs. `key` names the session in the store, `session_id` is what the caller calls it."""

    key: str
    session_id: str
    request_id: str
    caller: str
    text: str
    deadline: Deadline


@dataclass(frozen=True, slots=True)
class Sessions:
    """Questions to the agent, and what is kept of them. `pairs` is N, `ttl_seconds` how long a turn is kept."""

    model: Model
    store: SessionStore
    toolbox: Toolbox
    journal: Journal
    logger: Logger
    system: str
    limits: Limits
    pairs: int
    ttl_seconds: int
    new_id: Callable[[], str]
    now: Callable[[], float] = time.time

    def ask(self, question: Question) -> dict[str, Any]:
        """The direct answer to a question; a repeated request gets its first one.

        Raises an AgentError where there is none; nothing is stored then, and the session is free.
        """
        began = question.deadline.left()
        if began <= 0:
            raise OutOfTimeError
        seen, held = self._reserve(question)
        if isinstance(held, dict):
            return held
        completed = history.completed(seen, self.pairs, self.now())
        turn = self._turn(question, completed, held)
        try:
            outcome = turn.run()
        except BaseException:
            self._give_up(held, turn)
            raise
        answer = _answer(question, held, outcome)
        if self._saved(held, outcome, answer, question.deadline):
            self._trim(seen, completed, held, question)
        else:
            answer["saved"] = False
        seconds = began - question.deadline.left()
        self.journal.turn(answer, question.text, question.request_id, question.caller, seconds)
        return answer

    def read(self, key: str) -> list[dict[str, Any]]:
        """The turns that are kept, oldest first. Raises NotFoundError where there are none."""
        now = self.now()
        shown = [
            turn
            for turn in self.store.load(key, self.pairs, now, Deadline.after(_READING), whole=True)
            if history.is_shown(turn, now)
        ]
        listed, size = [], 0
        for turn in shown[: max(self.pairs, 1)]:
            listed.append(_listing(turn))
            size += len(json.dumps(listed[-1], ensure_ascii=False).encode())
            if size > _LISTED_BYTES:
                listed.pop()
                break
        if not listed:
            raise NotFoundError("Nothing is kept of this session.")
        return listed[::-1]

    def forget(self, key: str) -> None:
        """Deletes the session, whether it exists or not. Raises SessionBusyError while a turn runs."""
        self.store.forget(key, self.now())

    def _reserve(self, question: Question) -> tuple[list[StoredTurn], StoredTurn | dict[str, Any]]:
        """What the store holds, and the turn that is now ours, or the answer where the request was answered before."""
        lease_id = self.new_id()
        tried: StoredTurn | None = None
        for _ in range(3):
            now, began = self.now(), question.deadline.left()
            try:
                seen = self.store.load(question.key, self.pairs, now, question.deadline)
            except AgentError:
                self._free(tried)
                raise
            if tried and any(turn.lease_id == lease_id for turn in seen):  # an attempt whose answer was lost
                return [turn for turn in seen if turn.lease_id != lease_id], tried
            first = self._first_answer(seen, question, now)
            if first:
                return seen, first
            crashed = (
                self.store.get(question.key, seen[0].turn, question.deadline)
                if seen and seen[0].status == RUNNING
                else None
            )
            turn = self._new_turn(question, lease_id, now, crashed, (seen[0].turn if seen else 0) + (not crashed))
            if began - question.deadline.left() > _QUERY_IS_FRESH:
                continue
            try:
                self.store.reserve(turn, crashed, now)
            except StorageUnavailableError:
                tried = turn
                continue
            return [other for other in seen if other.turn != turn.turn], turn
        self._free(tried)
        raise StorageUnavailableError(detail="no turn could be reserved in three attempts")

    def _first_answer(self, seen: Sequence[StoredTurn], question: Question, now: float) -> dict[str, Any] | None:
        """What the same request was answered before. Raises SessionBusyError while another one, or the same, runs."""
        completed = history.completed(seen, self.pairs, now)
        number = next((turn.turn for turn in completed if turn.request_id == question.request_id), 0)
        first = self.store.get(question.key, number, question.deadline) if number else None
        if first and not _is_same(question.text, first.question):
            raise InvalidRequestError("This request_id came before, with another question.")
        if first and first.response:
            return first.response
        for turn in seen:
            if turn.status == RUNNING and not history.is_crashed(turn, now):
                raise SessionBusyError(retry_after=seconds_left(turn.lease_until, now))
        return None

    def _new_turn(
        self, question: Question, lease_id: str, now: float, crashed: StoredTurn | None, number: int
    ) -> StoredTurn:
        return StoredTurn(
            key=question.key,
            turn=number,
            status=RUNNING,
            request_id=question.request_id,
            question=question.text,
            messages=_carried_over(crashed, question) if crashed else None,
            created_at=datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            lease_id=lease_id,
            lease_until=round((now + max(question.deadline.left(), 0) + _LEASE_BEYOND_DEADLINE) * 1000),
            expires_at=int(now) + self.ttl_seconds,
        )

    def _turn(self, question: Question, completed: Sequence[StoredTurn], held: StoredTurn) -> Turn:
        ids: set[str] = set()
        earlier = history.model_history(completed, ids)
        messages = repair(held.messages, ids, closed=False) or [user_text(question.text)]

        def context(call: ToolCall, ends: Deadline) -> ToolContext:
            return ToolContext(question.session_id, question.caller, call.tool_use_id, ends, self.logger)

        def write_down(messages: Sequence[Message]) -> None:
            self.store.save(replace(held, messages=list(messages)), question.deadline)

        return Turn(
            model=self.model,
            toolbox=self.toolbox,
            system=self.system,
            history=earlier,
            messages=messages,
            seen_ids=ids,
            limits=self.limits,
            deadline=question.deadline,
            make_context=context,
            before_side_effects=write_down,
            after_tool_use=lambda record: self.journal.tool_use(question.session_id, record),
        )

    def _give_up(self, held: StoredTurn, turn: Turn) -> None:
        """Frees the session after a failed turn; what tools have changed outside stays written down."""
        if not (self.toolbox.changes_made(turn.tool_records) or held.messages):
            self._free(held)
            return
        try:
            self.store.save(replace(held, messages=turn.messages, lease_until=0), turn.deadline)
        except AgentError as error:  # the lease ends by itself
            self.journal.warning("a failed turn could not be freed", detail=error.detail or error.message)

    def _free(self, held: StoredTurn | None) -> None:
        try:
            if held:
                self.store.free(held)
        except AgentError as error:  # the lease ends by itself
            self.journal.warning("a failed turn could not be freed", detail=error.detail or error.message)

    def _saved(self, held: StoredTurn, outcome: Outcome, answer: dict[str, Any], deadline: Deadline) -> bool:
        """Whether the turn is kept as it should be. Where it can't, the session is freed, unless tools changed something."""
        done = replace(
            held,
            status=BLOCKED if outcome.blocked else DONE,
            messages=outcome.messages,
            response=answer,
            usage=outcome.usage.as_dict(),
        )
        try:
            if self.pairs:
                self.store.save(done, deadline)
            else:
                self.store.free(held)
        except AgentError as error:
            self.journal.warning("the answer could not be saved", detail=error.detail or error.message)
            if deadline.left() > -_SAVING and not (self.toolbox.changes_made(outcome.tool_records) or held.messages):
                self._free(held)
            return False
        return True

    def _trim(
        self, seen: Sequence[StoredTurn], completed: Sequence[StoredTurn], held: StoredTurn, question: Question
    ) -> None:
        """Deletes what is kept no longer. Best effort: the next turn does what this one couldn't."""
        others = self.pairs - 1  # beside this turn
        oldest_kept = held.turn if others < 1 else completed[others - 1].turn if len(completed) >= others else 0
        now = self.now()
        surplus = [turn.turn for turn in seen if turn.turn < oldest_kept or history.is_expired(turn, now)]
        surplus = surplus[-_TRIMMED_AT_ONCE:]
        if not surplus or question.deadline.left() < -_SAVING:
            return
        try:
            self.store.trim(question.key, surplus)
        except AgentError as error:
            self.journal.warning("old turns could not be deleted", detail=error.detail or error.message)


def _is_same(question: str, stored: str) -> bool:
    if SHORTENED in stored and question != stored:
        return question.startswith(stored.rpartition(SHORTENED)[0])
    return question == stored


def _carried_over(crashed: StoredTurn, question: Question) -> list[Message] | None:
    """What a crashed turn had written down, ready to go on: the same request goes on in it, another question follows it."""
    messages = repair(crashed.messages, set(), closed=False)
    if not messages:
        return None
    if crashed.request_id == question.request_id and crashed.question == question.text:
        return messages
    if messages[-1]["role"] == "user":
        messages = [*messages, assistant_text(NO_ANSWER)]
    return [*messages, user_text(question.text)]


def _answer(question: Question, held: StoredTurn, outcome: Outcome) -> dict[str, Any]:
    return {
        "answer": outcome.answer,
        "session_id": question.session_id,
        "turn": held.turn,
        "stop_reason": outcome.stop_reason,
        "steps": outcome.steps,
        "model_id": outcome.model_id,
        "usage": outcome.usage.as_dict(),
        "tool_uses": [
            {"name": record.name, "status": record.status, "milliseconds": record.milliseconds}
            for record in outcome.tool_records
        ],
    }


def _listing(turn: StoredTurn) -> dict[str, Any]:
    response = turn.response or {}
    return {
        "turn": turn.turn,
        "question": turn.question,
        "answer": response.get("answer", ""),
        "created_at": turn.created_at,
        "stop_reason": response.get("stop_reason", ""),
        "tool_uses": response.get("tool_uses", []),
        "usage": turn.usage,
    }
