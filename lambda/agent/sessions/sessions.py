"""A session's turns: reserved, run, saved and trimmed. What was paid for reaches the caller, even where it can't be saved."""

import json
import math
import time
from collections.abc import Callable, Sequence
from logging import Logger
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.deadline import Deadline
from agent.errors import AgentError, ModelThrottledError, NotFoundError, OutOfTimeError
from agent.messages import Message, Usage, user_text
from agent.ports import BLOCKED, DONE, WAITING, Journal, Meter, Model, SessionStore, StoredTurn, ToolCall
from agent.sessions import history
from agent.sessions.answers import direct_answer, listing, steps_and_usage
from agent.sessions.approvals import Approval, utc
from agent.sessions.leases import Leases, Question, Reserved
from agent.sessions.states import state_of
from agent.tooling.tool import ToolContext
from agent.tooling.toolbox import Toolbox
from agent.turn.fallback import Fallback, is_named
from agent.turn.loop import Limits, Turn
from agent.turn.outcome import Outcome
from agent.turn.repair import repair

# Parts of the time that is left, the reserve included, so that each thing that hangs leaves some to those after it.
_TO_COUNT, _TO_SAVE = 0.25, 0.75
_READING = 6.0  # seconds in which attempts to read a session for a person may begin
_LISTED_BYTES = 2_500_000  # of a listing; Lambda answers at most 6 MB, and writes each quote of a body with a backslash
_TRIMMED_AT_ONCE = 25  # items, DynamoDB's bound of a batch
_CONTEXT = "context_tokens"  # in a stored usage: of the turn's last model call, its answer included
_TOKENS_PER_CHARACTER = 0.5  # where no turn tells: more than English takes, less than Japanese
_USED_UP = "Your tokens of today are used up. They are counted anew from midnight UTC."


class Sessions(msgspec.Struct, frozen=True):
    """Questions to the agent, and what is kept of them. `pairs` is N, `ttl_seconds` how long a turn is kept.

    `models` are tried in their order. With a `meter`, a caller gets `daily_tokens` a day (UTC).
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
    meter: Meter | None = None
    daily_tokens: int = 0
    history_tokens: int | None = None
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
            left = self._tokens_left(question)
            if left is not None and left <= 0:
                raise ModelThrottledError(_USED_UP)

        reserved = self._leases().for_question(question, admit)
        return reserved if isinstance(reserved, dict) else self._run(question, reserved, began, left)

    def approve(self, approval: Approval) -> dict[str, Any]:
        """The direct answer once all waiting tool uses are decided; until then, what still waits. Raises like `ask`."""
        began = approval.deadline.left()
        if began <= 0:
            raise OutOfTimeError
        left = self._tokens_left(approval)  # before anything is reserved, since reading it can fail
        reserved = self._leases().for_approval(approval)
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
        turns = self.store.load(key, self.pairs, now, Deadline.after(_READING), whole=True)
        shown = [turn for turn in turns if state_of(turn, now).is_shown]
        listed, size = [], 0
        for turn in shown[: max(self.pairs, 1)]:
            listed.append(listing(turn))
            size += len(json.dumps(listed[-1], ensure_ascii=False).encode())
            if size > _LISTED_BYTES:
                listed.pop()
                break
        if not listed:
            raise NotFoundError("Nothing is kept of this session.")
        return listed[::-1]

    def forget(self, key: str) -> None:
        """Deletes the session, whether it exists or not. Raises SessionBusyError while a turn runs."""
        self.store.forget(key, self.now(), Deadline.after(_READING))

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

    def _tokens_left(self, asked: Question | Approval) -> int | None:
        used = self.meter.used(asked.caller, self.now(), asked.deadline) if self.meter else 0
        return self.daily_tokens - used if self.meter else None

    def _run(self, question: Question, reserved: Reserved, began: float, left: int | None) -> dict[str, Any]:
        held = reserved.turn
        if question.listener:
            question.listener.start(question.session_id, question.request_id, held.turn)
        completed = history.completed(reserved.others, self.pairs, self.now())
        turn = self._turn(question, completed, held, left)
        used_before = turn.usage.total
        try:
            outcome = turn.run()
        except BaseException:
            self._give_up(held, turn)
            raise
        finally:
            self._count(question, turn.usage.total - used_before)
        answer = direct_answer(question.session_id, held, outcome, utc(self.now() + self.approval_seconds))
        if not self._saved(held, outcome, answer, turn.context_tokens, question.deadline):
            answer["saved"] = False
            if answer.pop("approvals", None):  # nothing can be approved of what isn't kept
                answer["answer"] = f"{answer['answer']} It could not be kept for that: please ask again."
        elif not outcome.waiting:  # a turn that goes on must find the history that it began with
            self._trim(reserved.others, completed, held, question)
        seconds, told = began - question.deadline.left(), question.listener.first_text if question.listener else None
        self.journal.turn(answer, question.text, question.request_id, question.caller, seconds, told)
        return answer

    def _turn(self, question: Question, completed: Sequence[StoredTurn], held: StoredTurn, left: int | None) -> Turn:
        ids: set[str] = set()
        earlier = self._fitted(history.model_history(completed, ids), completed)
        # tool uses that are still unanswered are those that waited for a person
        messages = repair(held.messages, ids, closed=False, reasoning=True, answered=False)
        steps, usage = steps_and_usage(held.response)

        def context(call: ToolCall, ends: Deadline) -> ToolContext:
            return ToolContext(question.session_id, question.caller, call.tool_use_id, ends, self.logger)

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
            limits=self._limits(left, usage),
            deadline=question.deadline,
            make_context=context,
            before_side_effects=write_down,
            after_tool_use=lambda record: self.journal.tool_use(question.session_id, record),
            decisions=held.decisions,
            listener=question.listener,
            model_id=answered_by,
            steps=steps,
            usage=usage,
        )

    def _limits(self, left: int | None, used: Usage) -> Limits:
        """The limits of a turn that has used so much already; one model call is left to what was approved."""
        if left is None or (self.limits.turn_token_limit or math.inf) <= used.total + max(left, 1):
            return self.limits
        return Limits(self.limits.max_steps, used.total + max(left, 1), is_of_the_day=True)

    def _fitted(self, earlier: list[list[Message]], completed: Sequence[StoredTurn]) -> list[list[Message]]:
        """The history within HISTORY_TOKENS, by what the newest turn cost with all that was sent along."""
        if self.history_tokens is None:
            return earlier
        sent = sum(map(history.characters, (self.system, self.toolbox.specs, *earlier)))
        cost = next((turn.usage.get(_CONTEXT, 0) for turn in completed), 0)
        return history.fitted(earlier, self.history_tokens, cost / sent if cost > 0 else _TOKENS_PER_CHARACTER)

    def _give_up(self, held: StoredTurn, turn: Turn) -> None:
        """Frees the session after a failed turn; what tools have changed outside stays written down."""
        if not (self.toolbox.changes_made(turn.tool_records) or held.messages):
            self._leases().free(held, turn.deadline)
            return
        try:
            self.store.save(replace(held, messages=turn.messages, lease_until=0), turn.deadline.end())
        except AgentError as error:  # the lease ends by itself
            self._warn("a failed turn could not be freed", error)

    def _count(self, question: Question, tokens: int) -> None:
        try:
            if self.meter and tokens:
                self.meter.add(question.caller, tokens, self.now(), question.deadline.end().share(_TO_COUNT))
        except AgentError as error:
            self._warn("tokens could not be counted", error)

    def _saved(
        self, held: StoredTurn, outcome: Outcome, answer: dict[str, Any], context_tokens: int, deadline: Deadline
    ) -> bool:
        """Whether the turn is kept as it should be. Where it can't, the session is freed, unless tools changed something."""
        done = replace(
            held,
            status=WAITING if outcome.waiting else BLOCKED if outcome.blocked else DONE,
            messages=outcome.messages,
            response=answer,
            usage=outcome.usage.as_dict() | ({_CONTEXT: context_tokens} if self.history_tokens is not None else {}),
        )
        try:
            if self.pairs or outcome.waiting:
                self.store.save(done, deadline.end().share(_TO_SAVE))
            else:
                self.store.free(held, deadline.end().share(_TO_SAVE))
        except AgentError as error:
            self._warn("the answer could not be saved", error)
            if not (self.toolbox.changes_made(outcome.tool_records) or held.messages):
                self._leases().free(held, deadline)
            return False
        return True

    def _trim(
        self, others: Sequence[StoredTurn], completed: Sequence[StoredTurn], held: StoredTurn, question: Question
    ) -> None:
        """Deletes what is kept no longer. Best effort: the next turn does what this one couldn't."""
        surplus = history.surplus(others, completed, held.turn, self.pairs, self.now())[-_TRIMMED_AT_ONCE:]
        try:
            if surplus:
                self.store.trim(question.key, surplus, question.deadline.end())
        except AgentError as error:
            self._warn("old turns could not be deleted", error)

    def _warn(self, message: str, error: AgentError) -> None:
        self.journal.warning(message, detail=error.detail or error.message)
