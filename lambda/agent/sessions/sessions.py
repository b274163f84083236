"""A session's turns: reserved, run, and kept."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from logging import Logger
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.deadline import Deadline
from agent.errors import NotFoundError, OutOfTimeError, StorageUnavailableError
from agent.listening import Announcer
from agent.messages import Message, user_text
from agent.ports import BLOCKED, DONE, WAITING, Journal, Model, SessionStore, StoredTurn, ToolCall
from agent.sessions import history, verdicts
from agent.sessions.answers import direct_answer, listings
from agent.sessions.approvals import (
    Approval,
    beginning_to_wait,
    decided_calls,
    entries_of,
    refusal,
    steps_and_usage,
    utc,
)
from agent.sessions.inbox import READING
from agent.sessions.keeping import Keeping
from agent.sessions.leases import Leases, Question, Reserved
from agent.sessions.states import state_of
from agent.sessions.tokens import DailyTokens
from agent.tooling.tool import ToolContext
from agent.tooling.toolbox import Toolbox
from agent.turn.fallback import Fallback, is_named
from agent.turn.loop import Limits, Turn
from agent.turn.outcome import Outcome
from agent.turn.repair import repair


class Sessions(msgspec.Struct, frozen=True):
    """Questions to the agent, and what is kept of them. `pairs` is N, `ttl_seconds` how long a turn is kept.

    `models` are tried in their order.
    """

    models: Sequence[Model]
    store: SessionStore
    toolbox: Toolbox
    journal: Journal
    logger: Logger
    system: str
    limits: Limits
    pairs: int
    ttl_seconds: int
    new_id: Callable[[], str]
    approval_seconds: int = 24 * 60 * 60
    tokens: DailyTokens = DailyTokens()
    history_tokens: int | None = None
    announcer: Announcer | None = None
    now: Callable[[], float] = time.time

    def ask(self, question: Question) -> dict[str, Any]:
        """The direct answer to a question; a repeated request gets its first one.

        Raises an AgentError where there is none; nothing is stored then, and the session is free.
        """
        began = question.deadline.left()
        if began <= 0:
            raise OutOfTimeError
        left: int | None = None

        def admit() -> None:
            nonlocal left
            left = self.tokens.left(question.caller, self.now(), question.deadline)
            self.tokens.admit(left, self.now())

        with _in_time(question.deadline):
            reserved = self._leases().for_question(question, admit)
        return reserved if isinstance(reserved, dict) else self._run(question, reserved, began, left)

    def approve(self, approval: Approval) -> dict[str, Any]:
        """The direct answer once all waiting tool uses are decided; until then, what still waits. Raises like `ask`."""
        began = approval.deadline.left()
        if began <= 0:
            raise OutOfTimeError
        with _in_time(approval.deadline):
            # before anything is reserved, since reading it can fail
            left = self.tokens.left(approval.caller, self.now(), approval.deadline)
            reserved = verdicts.reserve(self._leases(), approval)
        if isinstance(reserved, dict):
            return reserved
        turn, where = reserved.turn, (approval.key, approval.session_id)
        question = Question(
            *where, turn.request_id, approval.caller, turn.question, approval.deadline, approval.listener
        )
        return self._run(question, reserved, began, left)

    def read(self, key: str) -> list[dict[str, Any]]:
        """The turns that are kept, oldest first. Raises NotFoundError where there are none."""
        now = self.now()
        turns = self._leases().seen(key, Deadline.after(READING), now, whole=True)
        shown = [turn for turn in turns if state_of(turn, now).is_shown]
        listed = listings(shown[: max(self.pairs, 1)])
        if not listed:
            raise NotFoundError("Nothing is kept of this session.")
        return listed

    def forget(self, key: str) -> None:
        """Deletes the session, whether it exists or not. Raises SessionBusyError while a turn runs."""
        self.store.forget(key, self.now(), Deadline.after(READING))

    def _leases(self) -> Leases:
        return Leases(
            store=self.store,
            journal=self.journal,
            pairs=self.pairs,
            ttl_seconds=self.ttl_seconds,
            new_id=self.new_id,
            now=self.now,
            reads_whole=self.history_tokens is not None,
            has_one_model=len(self.models) == 1,
        )

    def _run(self, question: Question, reserved: Reserved, began: float, left: int | None) -> dict[str, Any]:
        held = reserved.turn
        completed = history.completed(reserved.others, self.pairs, self.now())
        turn = self._turn(question, completed, held, left)
        if question.listener:
            question.listener.start(question.session_id, question.request_id, held.turn)
            question.listener.begin(turn.steps)
        used_before = turn.usage.total
        keeping = Keeping(self._leases(), self.announcer)
        try:
            outcome = turn.run()
        except BaseException:
            changed = self.toolbox.changes_made(turn.tool_records)
            keeping.give_up(reserved, turn.messages, question.deadline, changed=changed)
            raise
        finally:
            used, ends = turn.usage.total - used_before, question.deadline.end()
            self.tokens.count(question.caller, used, self.now(), ends, self.journal)
        ended = self._ended(question, held, outcome, turn.context_tokens)
        answer = ended.response or {}
        changed = self.toolbox.changes_made(outcome.tool_records)
        if not keeping.save(reserved, ended, question.deadline, changed=changed):
            answer["saved"] = False
            if answer.pop("approvals", None):  # nothing can be approved of what isn't kept
                answer["answer"] = f"{answer['answer']} It could not be kept for that: please ask again."
        elif outcome.waiting:
            keeping.announce(question.session_id, ended, question.deadline)
        else:  # a turn that goes on must find the history that it began with
            keeping.trim(reserved, completed, self.now(), question.deadline)
        seconds, told = began - question.deadline.left(), question.listener.first_text if question.listener else None
        self.journal.turn(answer, question.text, question.request_id, question.caller, seconds, told)
        return answer

    def _turn(self, question: Question, completed: Sequence[StoredTurn], held: StoredTurn, left: int | None) -> Turn:
        ids: set[str] = set()
        # tool uses that are still unanswered are those that waited for a person; they keep their ids, whatever stands before
        messages = repair(held.messages, ids, closed=False, reasoning=True, answered=False)
        earlier = history.model_history(completed, ids)
        if self.history_tokens is not None:
            earlier = history.within(earlier, self.history_tokens, completed, (self.system, self.toolbox.specs))
        steps, usage = steps_and_usage(held.response)
        decided = decided_calls(held, messages, steps)

        def context(call: ToolCall, ends: Deadline) -> ToolContext:
            approver = decided[call.tool_use_id].by if call.tool_use_id in decided else ""
            return ToolContext(
                question.session_id, question.caller, call.tool_use_id, ends, self.logger, approver=approver
            )

        def write_down(messages: Sequence[Message]) -> None:
            self.store.save(replace(held, messages=list(messages)), question.deadline)

        # a turn stays with the model that answered it, which alone can read its own reasoning
        answered_by = str((held.response or {}).get("model_id", ""))
        models = sorted(self.models, key=lambda model: not is_named(model, answered_by))
        return Turn(
            model=Fallback(models, self.journal),
            toolbox=self.toolbox,
            system=self.system,
            history=earlier,
            messages=messages or [user_text(question.text)],
            seen_ids=ids,
            limits=self.tokens.bound(self.limits, left, usage),
            deadline=question.deadline,
            make_context=context,
            before_side_effects=write_down,
            after_tool_use=lambda record: self.journal.tool_use(question.session_id, record),
            decisions={name: refusal(decision) for name, decision in decided.items()},
            listener=question.listener,
            about={"session": question.session_id, "turn": str(held.turn)},
            model_id=answered_by,
            steps=steps,
            usage=usage,
        )

    def _ended(self, question: Question, held: StoredTurn, outcome: Outcome, context_tokens: int) -> StoredTurn:
        """The turn as it is to be saved, with its answer."""
        ended, entries = held, list[dict[str, Any]]()
        if outcome.waiting:
            now, seconds = self.now(), self.approval_seconds
            ended = beginning_to_wait(held, question.caller, self.new_id(), now, seconds)
            entries = entries_of(outcome, ended.random, utc(now + seconds))
        return replace(
            ended,
            status=WAITING if outcome.waiting else BLOCKED if outcome.blocked else DONE,
            messages=outcome.messages,
            response=direct_answer(question.session_id, held, outcome, entries),
            usage=outcome.usage.as_dict()
            | ({history.CONTEXT: context_tokens} if self.history_tokens is not None else {}),
        )


@contextmanager
def _in_time(deadline: Deadline) -> Iterator[None]:
    """Has storage that failed because the turn's time ended told as that."""
    try:
        yield
    except StorageUnavailableError as error:
        if deadline.left() > 0:
            raise
        raise OutOfTimeError(detail=error.detail) from error
