"""Who may run a turn: every turn is reserved under a lease before its model is called, so that no two run at once.

A turn that crashed is taken over. What it had written down before a tool with side effects ran goes along, as calls of unknown
outcome, so that the model knows of them and nobody runs them again unasked.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.deadline import Deadline
from agent.errors import (
    AgentError,
    InvalidRequestError,
    NotFoundError,
    SessionBusyError,
    StorageUnavailableError,
)
from agent.messages import NO_ANSWER, Message, assistant_text, has_reasoning, user_text
from agent.ports import RUNNING, SHORTENED, WAITING, Decision, Journal, Listener, SessionStore, StoredTurn, seconds_left
from agent.sessions import history
from agent.sessions.approvals import Approval, decisions_of, overtaken, utc, waiting_entries
from agent.sessions.states import is_expired, state_of
from agent.turn.repair import repair

_LEASE_BEYOND_DEADLINE = 5  # seconds: time to save, and clocks that differ
_QUERY_IS_FRESH = (
    1  # seconds in which a turn must be reserved: later, numbers that were seen free may be taken and gone
)
_NOTHING_WAITS = "Nothing in this session waits for approval."


class Question(msgspec.Struct, frozen=True):
    """A question, and where it belongs. `key` names the session in the store, `session_id` is what the caller calls it."""

    key: str
    session_id: str
    request_id: str
    caller: str
    text: str
    deadline: Deadline
    listener: Listener | None = None


class Reserved(msgspec.Struct, frozen=True):
    """The turn that is ours to run, and the other turns of its session, the newest first."""

    turn: StoredTurn
    others: list[StoredTurn]


class Leases(msgspec.Struct, frozen=True):
    """Reserves turns. `pairs` is N, `ttl_seconds` how long a turn is kept."""

    store: SessionStore
    journal: Journal
    pairs: int
    ttl_seconds: int
    new_id: Callable[[], str]
    now: Callable[[], float]
    reads_whole: bool = False
    has_one_model: bool = True

    def for_question(self, question: Question, admit: Callable[[], None]) -> Reserved | dict[str, Any]:
        """The turn of a question, or the answer that the same request got before; `admit` raises for who may not begin one.

        Raises SessionBusyError while another turn runs, InvalidRequestError for a request id that had another question.
        """
        lease_id = self.new_id()
        tried: StoredTurn | None = None
        for _ in range(3):
            now, began = self.now(), question.deadline.left()
            try:
                seen = self.store.load(question.key, self.pairs, now, question.deadline, whole=self.reads_whole)
            except AgentError:
                self.free(tried, question.deadline)
                raise
            if tried and any(turn.lease_id == lease_id for turn in seen):  # an attempt whose answer was lost
                return Reserved(tried, [turn for turn in seen if turn.lease_id != lease_id])
            first = self._first_answer(seen, question, now)
            if first:
                return first
            admit()
            newest = self._newest_open(seen, question, now)
            turn = self._new_turn(question, lease_id, now, seen, newest)
            if newest:
                seen = [newest, *seen[1:]]
            if began - question.deadline.left() > _QUERY_IS_FRESH:
                continue
            try:
                replaced = newest if newest and newest.turn == turn.turn else None
                self.store.reserve(turn, replaced, now, question.deadline)
            except StorageUnavailableError:
                tried = turn
                continue
            return Reserved(turn, [other for other in seen if other.turn != turn.turn])
        self.free(tried, question.deadline)
        raise StorageUnavailableError(detail="no turn could be reserved in three attempts")

    def for_approval(self, approval: Approval) -> Reserved | dict[str, Any]:
        """The turn whose waiting tool uses are decided now, or its answer where some still wait or all was decided before.

        Raises NotFoundError where nothing waits, InvalidRequestError for a tool use that doesn't.
        """
        now = self.now()
        seen = self.store.load(approval.key, self.pairs, now, approval.deadline)
        _refuse_while_running(seen, now)
        found = self._whole(seen[0], approval.deadline) if seen else None
        if found is None or is_expired(found, now):
            raise NotFoundError(_NOTHING_WAITS)
        _refuse_while_running([found], now)
        if found.status != WAITING:
            decided = {name: found.decisions.get(name) for name in approval.verdicts}
            if not all(one and one.approved == approval.verdicts[name][0] for name, one in decided.items()):
                raise NotFoundError(_NOTHING_WAITS)
            if found.status != RUNNING:
                if found.response is None:
                    raise NotFoundError(_NOTHING_WAITS)
                return found.response
        new = decisions_of(found, approval, now) if found.status == WAITING else {}
        decisions = {**found.decisions, **new}
        pending = [entry for entry in waiting_entries(found) if entry["tool_use_id"] not in decisions]
        if pending and found.status == WAITING:
            answer = {**(found.response or {}), "approvals": pending}
            # a new lease, so that of two answers at once only one is taken
            partly = replace(found, decisions=decisions, response=answer, lease_id=self.new_id())
            self.store.reserve(partly, found, now, approval.deadline)
            self._tell(approval, found, new)
            return answer
        ends = self._lease_until(approval.deadline, now)
        messages = found.messages
        if found.status == RUNNING:  # it crashed while they ran
            messages = repair(messages, set(), closed=False, reasoning=True)
        turn = replace(
            found, status=RUNNING, messages=messages, decisions=decisions, lease_id=self.new_id(), lease_until=ends
        )
        try:
            self.store.reserve(turn, found, now, approval.deadline)
        except StorageUnavailableError:
            standing = self.store.get(turn.key, turn.turn, approval.deadline)
            if standing is None or standing.lease_id != turn.lease_id:
                raise
        self._tell(approval, found, new)
        return Reserved(turn, [other for other in seen if other.turn != turn.turn])

    def free(self, held: StoredTurn | None, deadline: Deadline) -> None:
        """Deletes a turn that is ours, within the reserve after the deadline. Best effort: its lease ends by itself."""
        try:
            if held:
                self.store.free(held, deadline.end())
        except AgentError as error:
            self.journal.warning("a failed turn could not be freed", detail=error.detail or error.message)

    def _whole(self, seen: StoredTurn, deadline: Deadline) -> StoredTurn:
        """A turn that was seen just now; an answer without it is more likely broken than true, and would lose the turn."""
        found = self.store.get(seen.key, seen.turn, deadline)
        if found is None:
            raise StorageUnavailableError(detail="a turn that was seen just now can't be read")
        return found

    def _first_answer(self, seen: Sequence[StoredTurn], question: Question, now: float) -> dict[str, Any] | None:
        """What the same request was answered before. Raises SessionBusyError while another one, or the same, runs."""
        waiting = [turn for turn in seen[:1] if state_of(turn, now).is_closed]
        answered = waiting + history.completed(seen, self.pairs, now)
        same = next((turn for turn in answered if turn.request_id == question.request_id), None)
        first = self._whole(same, question.deadline) if same else None
        if first and not _is_same(question.text, first.question):
            raise InvalidRequestError("This request_id came before, with another question.")
        if first and first.response:
            return first.response
        _refuse_while_running(seen, now)
        return None

    def _newest_open(self, seen: Sequence[StoredTurn], question: Question, now: float) -> StoredTurn | None:
        """The newest turn, whole, if it crashed; one that waits for approval is closed, its tool uses denied."""
        if not seen or not (state_of(seen[0], now).is_replaced or state_of(seen[0], now).is_closed):
            return None
        newest = self._whole(seen[0], question.deadline)
        _refuse_while_running([newest], now)  # it may have begun since it was seen
        if not state_of(newest, now).is_closed:
            return newest
        closed = overtaken(newest, question.caller, now)
        # a new lease, so that an approval at the same time finds it taken
        closed = replace(closed, lease_id=self.new_id())
        self.store.reserve(closed, newest, now, question.deadline)
        return closed

    def _new_turn(
        self, question: Question, lease_id: str, now: float, seen: Sequence[StoredTurn], newest: StoredTurn | None
    ) -> StoredTurn:
        crashed = newest if newest and state_of(newest, now).is_replaced else None
        goes_on = crashed if crashed and _is_same_request(crashed, question) else None
        return StoredTurn(
            key=question.key,
            turn=(seen[0].turn if seen else 0) + (not crashed),
            status=RUNNING,
            request_id=question.request_id,
            question=question.text,
            messages=_carried_over(crashed, question, self.has_one_model) if crashed else None,
            created_at=utc(now),
            lease_id=lease_id,
            lease_until=self._lease_until(question.deadline, now),
            expires_at=int(now) + self.ttl_seconds,
            response=goes_on.response if goes_on else None,
            usage=goes_on.usage if goes_on else {},
            decisions=crashed.decisions if crashed else {},
        )

    def _lease_until(self, deadline: Deadline, now: float) -> int:
        return round((now + max(deadline.left(), 0) + _LEASE_BEYOND_DEADLINE) * 1000)

    def _tell(self, approval: Approval, found: StoredTurn, decisions: Mapping[str, Decision]) -> None:
        tools = {entry["tool_use_id"]: str(entry.get("tool")) for entry in waiting_entries(found)}
        for name, decision in decisions.items():
            self.journal.approval(approval.session_id, name, tools[name], decision.approved, decision.by)


def _refuse_while_running(seen: Sequence[StoredTurn], now: float) -> None:
    for turn in seen:
        if state_of(turn, now).holds:
            raise SessionBusyError(retry_after=seconds_left(turn.lease_until, now))


def _is_same_request(turn: StoredTurn, question: Question) -> bool:
    return turn.request_id == question.request_id and _is_same(question.text, turn.question)


def _is_same(question: str, stored: str) -> bool:
    if SHORTENED in stored and question != stored:
        return question.startswith(stored.rpartition(SHORTENED)[0])
    return question == stored


def _carried_over(crashed: StoredTurn, question: Question, has_one_model: bool) -> list[Message] | None:
    """What a crashed turn had written down, ready to go on: the same request goes on in it, another question follows it.

    Where there are several models it isn't known whose reasoning it was, so that the question is asked anew behind it.
    """
    is_same = _is_same_request(crashed, question)
    messages = repair(crashed.messages, set(), closed=False, reasoning=is_same)
    if not messages or (is_same and (has_one_model or not any(map(has_reasoning, messages)))):
        return messages or None
    messages = repair(messages, set(), closed=False)
    if messages[-1]["role"] == "user":
        messages = [*messages, assistant_text(NO_ANSWER)]
    return [*messages, user_text(question.text)]
