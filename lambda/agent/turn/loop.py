"""The loop: the model is called, its tool uses are answered, until it answers or a limit is reached.

It acts on the blocks that came, not only on the stop reason, and what it leaves behind is always a valid turn. It knows
neither AWS nor HTTP.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from agent.deadline import Deadline
from agent.errors import OutOfTimeError, PromptTooLongError
from agent.listening import Listener
from agent.messages import (
    Message,
    Usage,
    assistant_text,
    has_reasoning,
    has_tool_results,
    tool_uses,
    user_text,
    visible_text,
    with_sentence,
)
from agent.ports import Model, ModelReply, ModelRequest, ToolCall, ToolRecord
from agent.tooling.tool import ToolContext
from agent.tooling.toolbox import Toolbox
from agent.turn.end_notes import BLOCKING, ending, joined
from agent.turn.model_reply import can_wait, clean_reply, fingerprint
from agent.turn.outcome import Outcome

CONCLUDE = "[This was the last tool use that is possible. Answer now with what you have; no more tools can be run.]"
NUDGE = "[Your last answer was empty or malformed. Answer again.]"

# With any other stop reason a tool use may be half of what the model meant, so it is not run.
_RUNS_TOOLS = ("tool_use", "end_turn", "stop_sequence")
_RETRIED = ("malformed_model_output", "malformed_tool_use")
_MAX_SAME_FAILURES = 3
_SAME_AGAIN = f"Not run: this very call has failed {_MAX_SAME_FAILURES} times. Do not make it again."


class Limits(msgspec.Struct, frozen=True):
    """Bounds of one turn: model calls, and input and output tokens together (None: unbounded).

    `is_of_the_day`: the tokens are what is left of the caller's day.
    """

    max_steps: int = 10
    turn_token_limit: int | None = None
    is_of_the_day: bool = False


@dataclass
class Turn:
    """One turn under way. `messages` begin with its question; `history` holds the turns before it, oldest first."""

    model: Model
    toolbox: Toolbox
    system: str
    history: list[list[Message]]
    messages: list[Message]
    seen_ids: set[str]
    limits: Limits
    deadline: Deadline
    make_context: Callable[[ToolCall, Deadline], ToolContext]
    before_side_effects: Callable[[Sequence[Message]], None]
    after_tool_use: Callable[[ToolRecord], None]
    decisions: Mapping[str, str] = field(default_factory=dict)  # tool use id -> why a person let it not run, or blank
    listener: Listener | None = None
    about: Mapping[str, str] = field(default_factory=dict)
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    model_id: str = ""
    tool_records: list[ToolRecord] = field(default_factory=list)
    context_tokens: int = 0  # of the last model call: all that it was sent, and its answer
    _longest: float = 0.0  # seconds of the longest model call
    _dearest: int = 0  # tokens of the dearest model call
    _failures: Counter[str] = field(default_factory=Counter)
    _nudged: tuple[int, Message] | None = None  # where a sentence of ours stands within the turn, and what stood there

    def run(self) -> Outcome:
        """Runs the turn to its answer.

        Raises what the model raises; OutOfTimeError and PromptTooLongError only before the first answer of the model.
        """
        self._run_decided()
        while True:
            if reached := self._limit_reached(calls=1):
                return self._stopped(reached)
            near = self._limit_reached(calls=2) if has_tool_results(self.messages[-1]) else ""
            try:
                reply = self._call_model(CONCLUDE if near else "")
            except (OutOfTimeError, PromptTooLongError) as error:
                if not self.steps:
                    raise
                if self.listener:
                    self.listener.end("")
                late = isinstance(error, OutOfTimeError)
                return self._stopped("deadline" if late else "model_context_window_exceeded")
            message, calls = clean_reply(reply.content, self.seen_ids, reply.model_id)
            again = self._deserves_another_try(reply.stop_reason, message, calls)
            said = visible_text(message) if message else ""
            if self.listener:
                self.listener.end("" if again or reply.stop_reason in BLOCKING else said)
            if message and calls and reply.stop_reason in _RUNS_TOOLS:
                reached = near or self._limit_reached(calls=1)
                if reached:
                    return self._stopped(reached, message, calls)
                waiting = self.toolbox.waiting(calls)
                if waiting and can_wait(calls):
                    return self._waiting(message, waiting)
                self._run_tools(message, calls)
            elif again:
                self._nudged = len(self.messages) - 1, self.messages[-1]
                nudge = f"{NUDGE[:-1]} {reply.remark}]" if reply.remark else NUDGE
                self.messages[-1] = with_sentence(self.messages[-1], nudge)
            else:
                return self._answered(reply, message, calls)

    def _limit_reached(self, calls: int) -> str:
        """The limit that so many more model calls would exceed, as a stop reason; blank where there is none."""
        if not self.steps:
            return ""
        if self.steps + calls > self.limits.max_steps:
            return "step_limit"
        if self.deadline.left() <= calls * self._longest:
            return "deadline"
        tokens = self.usage.total + (calls - 1) * self._dearest
        if self.limits.turn_token_limit is not None and tokens >= self.limits.turn_token_limit:
            return "token_limit"
        return ""

    def _call_model(self, sentence: str) -> ModelReply:
        """One answer of the model; where the conversation is too long for it, the older half of the history goes first."""
        while True:
            messages = [*itertools.chain.from_iterable(self.history), *self.messages]
            if sentence:
                messages[-1] = with_sentence(messages[-1], sentence)
            began = self.deadline.left()
            request = ModelRequest(self.system, messages, self.toolbox.specs, about=self.about)
            if self.listener:
                self.listener.begin(self.steps + 1)
            try:
                reply = self.model.converse(request, self.deadline, self.listener)
            except PromptTooLongError:
                # reasoning may be sent only behind the very messages that it came from, and must be sent within its turn
                if not self.history or any(map(has_reasoning, self.messages)):
                    raise
                self.history = self.history[(len(self.history) + 1) // 2 :]
                continue
            self.steps += 1
            self._longest = max(self._longest, began - self.deadline.left())
            self._dearest = max(self._dearest, reply.usage.total)
            self.usage += reply.usage
            self.context_tokens = sum(reply.usage.as_dict().values())
            self.model_id = reply.model_id
            return reply

    def _run_decided(self) -> None:
        """Runs the tool uses that waited for a person; the item that holds them was reserved for just this."""
        *before, message = self.messages
        calls = [ToolCall(use["toolUseId"], use["name"], use["input"]) for use in tool_uses(message)]
        if calls:
            self.messages = before
            self._run_tools(message, calls, is_written=True)
        elif message["role"] == "assistant":  # an item that was edited by hand
            self.messages = [*self.messages, user_text("Go on.")]

    def _run_tools(self, message: Message, calls: Sequence[ToolCall], *, is_written: bool = False) -> None:
        asked = [*self.messages, message]
        if self.toolbox.has_side_effects(calls) and not is_written:
            self.before_side_effects(asked)
        # what a model call takes is kept back, so that the model can still conclude from the results
        deadline = self.deadline.earlier(self._longest)
        records = self.toolbox.run(calls, deadline, self.make_context, self._refusals(calls), self.listener)
        for record, call in zip(records, calls, strict=True):
            self.after_tool_use(record)
            if record.status == "error" and record.error != "not_run":
                self._failures[fingerprint(call)] += 1
        self.tool_records += records
        self.messages = [*asked, {"role": "user", "content": [record.result for record in records]}]

    def _refusals(self, calls: Sequence[ToolCall]) -> dict[str, str]:
        """Why some calls are not run: a person said no, or they have failed the same way again and again."""
        refusals = {}
        waiting = {call.tool_use_id for call in self.toolbox.waiting(calls)}
        for call in calls:
            decision = self.decisions.get(call.tool_use_id)
            if decision:
                refusals[call.tool_use_id] = decision
            elif decision is None and call.tool_use_id in waiting:
                refusals[call.tool_use_id] = (
                    "Not run: a call beside it was wrong, or together they are too long to be kept."
                )
            elif self._failures[fingerprint(call)] >= _MAX_SAME_FAILURES:
                refusals[call.tool_use_id] = _SAME_AGAIN
        return refusals

    def _waiting(self, message: Message, waiting: Sequence[ToolCall]) -> Outcome:
        """The turn as it waits for a person: its messages end with the tool uses, none of which was run."""
        names = ", ".join(dict.fromkeys(call.name for call in waiting))
        answer = joined(visible_text(message), [f"This needs your approval: {names}."])
        outcome = self._outcome(answer, "awaiting_approval", message)
        # as the model saw them, sentences of ours included: the turn goes on behind these
        return replace(outcome, messages=[*self.messages, message], waiting=waiting)

    def _deserves_another_try(self, stop_reason: str, message: Message | None, calls: Sequence[ToolCall]) -> bool:
        empty = message is None or not (calls or visible_text(message))
        if self._nudged or self._limit_reached(calls=1):
            return False
        return stop_reason in _RETRIED or (empty and stop_reason in _RUNS_TOOLS)

    def _answered(self, reply: ModelReply, message: Message | None, calls: Sequence[ToolCall]) -> Outcome:
        """The turn with the model's own end, whatever its reason."""
        said = visible_text(message) if message else ""
        answer = ending(reply.stop_reason, said, self._last_words, tools_left=bool(calls), remark=reply.remark)
        return self._outcome(answer, reply.stop_reason, message)

    def _stopped(self, limit: str, message: Message | None = None, calls: Sequence[ToolCall] = ()) -> Outcome:
        """The turn ended by one of our limits; the tool uses of the last message are not run and not kept."""
        said = (visible_text(message) if message else "") or self._last_words()
        reason = "daily_token_limit" if limit == "token_limit" and self.limits.is_of_the_day else limit
        return self._outcome(ending(reason, said, self._last_words, tools_left=bool(calls)), limit, message)

    def _last_words(self) -> str:
        """The latest thing that the model said in this turn."""
        said = (visible_text(message) for message in reversed(self.messages) if message["role"] == "assistant")
        return next((text for text in said if text), "")

    def _outcome(self, answer: str, stop_reason: str, last: Message | None = None) -> Outcome:
        """`last` is kept without the tool uses that weren't run, and not at all where it says nothing."""
        said = visible_text(last) if last else ""
        kept = [assistant_text(said) if tool_uses(last) else last] if last and said else []
        messages = [*self.messages, *kept]
        if self._nudged:
            messages[self._nudged[0]] = self._nudged[1]
        return Outcome(
            messages=messages,
            answer=answer,
            stop_reason=stop_reason,
            steps=self.steps,
            usage=self.usage,
            model_id=self.model_id,
            tool_records=self.tool_records,
            blocked=stop_reason in BLOCKING,
        )
