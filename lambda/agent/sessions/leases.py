"""Who may run a turn: every turn is reserved under a lease before its model is called, so that no two run at once.

A turn that crashed is taken over. What it had written down before a tool with side effects ran goes along, as calls of unknown
outcome, so that the model knows of them and nobody runs them again unasked.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.deadline import Deadline
from agent.errors import AgentError, InvalidRequestError, SessionBusyError, StorageUnavailableError
from agent.listening import Listener
from agent.messages import NO_ANSWER, Message, assistant_text, has_reasoning, user_text
from agent.ports import RUNNING, SHORTENED, WAITING, Journal, SessionStore, StoredTurn, seconds_left
from agent.sessions import history
from agent.sessions.answers import present_answer
from agent.sessions.approvals import utc
from agent.sessions.states import CLOSED, state_of, with_closed
from agent.turn.repair import repair

_LEASE_BEYOND_DEADLINE = 5  # seconds: time to save, and clocks that differ
_QUERY_IS_FRESH = (
    1  # seconds in which a turn must be reserved: later, numbers that were seen free may be taken and gone
)


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
    """The turn that is ours to run, and the other turns of its session, the newest first.

    `overtaken` is the turn that waits for a yes while a question came instead; among the others it counts as closed already.
    """

    turn: StoredTurn
    others: list[StoredTurn]
    overtaken: StoredTurn | None = None


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
        tried: Reserved | None = None
        for _ in range(3):
            now, began = self.now(), question.deadline.left()
            try:
                seen = self.seen(question.key, question.deadline, now, whole=self.reads_whole)
            except AgentError:
                self.give_back(tried, question.deadline)
                raise
            if tried and any((turn.turn, turn.lease_id) == (tried.turn.turn, lease_id) for turn in seen):
                return tried  # an attempt whose answer was lost
            first = self._first_answer(seen, question, now, lease_id)
            if first:
                return first
            admit()
            newest = self._newest_crashed(seen, question.deadline, now)
            seen = with_closed([newest, *seen[1:]]) if newest else seen
            crashed = newest if newest and state_of(newest, now).is_replaced else None
            turn = self._new_turn(question, lease_id, now, seen, crashed)
            waiting = next((each for each in seen if state_of(each, now).waits), None)
            reserved = _reserved(turn, crashed, waiting, seen)
            if began - question.deadline.left() > _QUERY_IS_FRESH:
                continue
            try:
                # first on what waits, so that no yes gets in beside the question
                if waiting and reserved.overtaken and waiting.lease_id != lease_id:
                    self.store.lease(reserved.overtaken, waiting, now, question.deadline)
                self.store.reserve(turn, crashed, now, question.deadline)
                return reserved
            except StorageUnavailableError:
                tried = reserved
            except SessionBusyError:
                self._end_lease(reserved.overtaken, question.deadline)
                raise
        self.give_back(tried, question.deadline)
        raise StorageUnavailableError(detail="no turn could be reserved in three attempts")

    def seen(self, key: str, deadline: Deadline, now: float, *, whole: bool) -> list[StoredTurn]:
        """The turns of a session, newest first, those that wait no more marked as closed."""
        return with_closed(self.store.load(key, self.pairs, now, deadline, whole=whole))

    def lease_until(self, deadline: Deadline, now: float) -> int:
        """The end (epoch milliseconds) of a lease that is taken at `now` (epoch seconds)."""
        return round((now + max(deadline.left(), 0) + _LEASE_BEYOND_DEADLINE) * 1000)

    def give_back(self, reserved: Reserved | None, deadline: Deadline) -> None:
        """Deletes a turn that is ours; what it has overtaken waits on. Best effort: leases end by themselves."""
        if not reserved:
            return
        try:
            self.store.free(reserved.turn, deadline.end().share(0.5))
        except AgentError as error:
            self.warn("a turn could not be freed", error)
        self._end_lease(reserved.overtaken, deadline)

    def close(self, reserved: Reserved, deadline: Deadline) -> None:
        """Takes a turn that was overtaken out of what waits. Best effort: it is closed by what came after it."""
        self._end_lease(reserved.overtaken and replace(reserved.overtaken, waiting=""), deadline)

    def _end_lease(self, overtaken: StoredTurn | None, deadline: Deadline) -> None:
        try:
            if overtaken:
                ends = deadline.end().share(0.5)
                self.store.lease(replace(overtaken, lease_until=0), overtaken, self.now(), ends)
        except SessionBusyError:
            return  # another request has it
        except AgentError as error:
            self.warn("a turn could not be freed", error)

    def warn(self, message: str, error: AgentError) -> None:
        """Tells of something that went wrong and did not stop the turn."""
        self.journal.warning(message, detail=error.detail or error.message)

    def _whole(self, seen: StoredTurn, deadline: Deadline) -> StoredTurn:
        """A turn that was seen just now; an answer without it is more likely broken than true, and would lose the turn."""
        found = self.store.get(seen.key, seen.turn, deadline)
        if found is None:
            raise StorageUnavailableError(detail="a turn that was seen just now can't be read")
        return replace(found, status=CLOSED) if seen.status == CLOSED else found

    def _first_answer(
        self, seen: Sequence[StoredTurn], question: Question, now: float, lease_id: str
    ) -> dict[str, Any] | None:
        """What the same request was answered before. Raises SessionBusyError while another one, or the same, runs."""
        waiting = [turn for turn in seen if state_of(turn, now).waits]
        answered = waiting + history.completed(seen, self.pairs, now)
        same = next((turn for turn in answered if turn.request_id == question.request_id), None)
        first = self._whole(same, question.deadline) if same else None
        if first and not _is_same(question.text, first.question):
            raise InvalidRequestError("This request_id came before, with another question.")
        answer = present_answer(first) if first else None
        if not answer:
            refuse_while_running(seen, now, but=lease_id)
        return answer

    def _newest_crashed(self, seen: Sequence[StoredTurn], deadline: Deadline, now: float) -> StoredTurn | None:
        """The newest turn, whole, if it was seen crashed."""
        if not seen or not state_of(seen[0], now).is_replaced:
            return None
        newest = self._whole(seen[0], deadline)
        refuse_while_running([newest], now)  # it may have begun since it was seen
        return newest

    def _new_turn(
        self, question: Question, lease_id: str, now: float, seen: Sequence[StoredTurn], crashed: StoredTurn | None
    ) -> StoredTurn:
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
            lease_until=self.lease_until(question.deadline, now),
            # while an item says that it waits, what closes it must be there
            expires_at=max(
                [int(now) + self.ttl_seconds, *(e.expires_at for e in seen if e.status in (WAITING, CLOSED))]
            ),
            response=goes_on.response if goes_on else None,
            usage=goes_on.usage if goes_on else {},
            random=crashed.random if crashed else "",
            decisions=crashed.decisions if crashed else {},
        )


def refuse_while_running(seen: Sequence[StoredTurn], now: float, *, but: str | None = None) -> None:
    """Raises SessionBusyError where a lease holds, `but` the one of that id."""
    for turn in seen:
        if state_of(turn, now).holds and turn.lease_id != but:
            raise SessionBusyError(retry_after=seconds_left(turn.lease_until, now))


def _reserved(
    turn: StoredTurn, crashed: StoredTurn | None, waiting: StoredTurn | None, seen: Sequence[StoredTurn]
) -> Reserved:
    overtaken = waiting and replace(waiting, lease_id=turn.lease_id, lease_until=turn.lease_until)
    others = [replace(overtaken, status=CLOSED) if overtaken and each is waiting else each for each in seen]
    return Reserved(turn, [each for each in others if each.turn != turn.turn], overtaken)


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
