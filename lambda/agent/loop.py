"""The loop: the model is called, its tool uses are answered, until it answers or a limit is reached.

It acts on the blocks that came, not only on the stop reason, and what it leaves behind is always a valid turn. It knows
neither AWS nor HTTP.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent.deadline import Deadline
from agent.errors import OutOfTimeError, PromptTooLongError
from agent.messages import (
    Message,
    Usage,
    assistant_text,
    has_reasoning,
    has_tool_results,
    visible_text,
    with_sentence,
)
from agent.ports import Model, ModelReply, ModelRequest, ToolRecord
from agent.replies import ToolCall, clean_reply
from agent.tool import ToolContext
from agent.toolbox import Toolbox

CONCLUDE = "[This was the last tool use that is possible. Answer now with what you have; no more tools can be run.]"
NUDGE = "[Your last answer was empty or malformed. Answer again.]"

# With any other stop reason a tool use may be half of what the model meant, so it is not run.
_RUNS_TOOLS = ("tool_use", "end_turn", "stop_sequence")
_RETRIED = ("malformed_model_output", "malformed_tool_use")
_BLOCKING = ("guardrail_intervened", "content_filtered")
_NOTES = {
    "step_limit": "I stopped here: this took as many steps as one question may take.",
    "deadline": "I stopped here: the time for one question ran out.",
    "token_limit": "I stopped here: this took as many tokens as one question may take.",
    "max_tokens": "The answer was cut off: it reached the length limit of one answer.",
    "model_context_window_exceeded": "The answer was cut off: the conversation became too long for the model.",
    "malformed_model_output": "The model's answer was malformed and could not be used.",
    "malformed_tool_use": "The model's use of a tool was malformed and was not run.",
}
_NOT_RUN = "A tool that was asked for was not run."
_FALLBACKS = {
    "guardrail_intervened": "This request was blocked by a guardrail.",
    "content_filtered": "The answer was withheld by the model's content filter.",
}
_NOTHING = "The model gave no answer."
# Lambda answers at most 6 MB, and JSON within JSON writes some characters with up to seven bytes
_MAX_ANSWER_CHARS = 800_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one turn: model calls, and input and output tokens together (None: unbounded)."""

    max_steps: int = 10
    turn_token_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended. `messages` begin with the question and end with the answer; `blocked`: a guardrail stopped it."""

    messages: list[Message]
    answer: str
    stop_reason: str
    steps: int
    usage: Usage
    model_id: str
    tool_records: list[ToolRecord]
    blocked: bool


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
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    model_id: str = ""
    tool_records: list[ToolRecord] = field(default_factory=list)
    _longest: float = 0.0  # seconds of the longest model call
    _dearest: int = 0  # tokens of the dearest model call
    _nudged: tuple[int, Message] | None = None  # where a sentence of ours stands within the turn, and what stood there

    def run(self) -> Outcome:
        """Runs the turn to its answer.

        Raises what the model raises; OutOfTimeError and PromptTooLongError only before the first answer of the model.
        """
        while True:
            reached = self._limit_reached(calls=1)
            if reached:
                return self._stopped(reached)
            near = self._limit_reached(calls=2) if has_tool_results(self.messages[-1]) else ""
            try:
                reply = self._call_model(CONCLUDE if near else "")
            except (OutOfTimeError, PromptTooLongError) as error:
                if not self.steps:
                    raise
                out_of_time = isinstance(error, OutOfTimeError)
                return self._stopped("deadline" if out_of_time else "model_context_window_exceeded")
            message, calls = clean_reply(reply.content, self.seen_ids)
            if message and calls and reply.stop_reason in _RUNS_TOOLS:
                reached = near or self._limit_reached(calls=1)
                if reached:
                    return self._stopped(reached, message, calls)
                self._run_tools(message, calls)
            elif self._deserves_another_try(reply.stop_reason, message, calls):
                self._nudged = len(self.messages) - 1, self.messages[-1]
                self.messages[-1] = with_sentence(self.messages[-1], NUDGE)
            else:
                return self._answered(reply.stop_reason, message, calls)

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
            try:
                reply = self.model.converse(ModelRequest(self.system, messages, self.toolbox.specs), self.deadline)
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
            self.model_id = reply.model_id
            return reply

    def _run_tools(self, message: Message, calls: Sequence[ToolCall]) -> None:
        asked = [*self.messages, message]
        if self.toolbox.has_side_effects(calls):
            self.before_side_effects(asked)
        # what a model call takes is kept back, so that the model can still conclude from the results
        records = self.toolbox.run(calls, self.deadline.earlier(self._longest), self.make_context)
        for record in records:
            self.after_tool_use(record)
        self.tool_records += records
        self.messages = [*asked, {"role": "user", "content": [record.result for record in records]}]

    def _deserves_another_try(self, stop_reason: str, message: Message | None, calls: Sequence[ToolCall]) -> bool:
        empty = message is None or not (calls or visible_text(message))
        if self._nudged or self._limit_reached(calls=1):
            return False
        return stop_reason in _RETRIED or (empty and stop_reason in _RUNS_TOOLS)

    def _answered(self, stop_reason: str, message: Message | None, calls: Sequence[ToolCall]) -> Outcome:
        """The turn with the model's own end, whatever its reason."""
        said = visible_text(message) if message else ""
        notes = [note for note in (_NOTES.get(stop_reason), _NOT_RUN if calls else None) if note]
        if message and said and not notes and len(said) <= _MAX_ANSWER_CHARS:
            return self._outcome(said, stop_reason, message)
        if not said and not notes:
            said = _FALLBACKS.get(stop_reason) or self._last_words() or _NOTHING
        return self._outcome(_joined(said, notes), stop_reason)

    def _stopped(self, limit: str, message: Message | None = None, calls: Sequence[ToolCall] = ()) -> Outcome:
        """The turn ended by one of our limits; the tool uses of the last message are not run and not kept."""
        said = (visible_text(message) if message else "") or self._last_words()
        notes = [_NOTES[limit], *([_NOT_RUN] if calls else [])]
        return self._outcome(_joined(said, notes), limit)

    def _last_words(self) -> str:
        """The latest thing that the model said in this turn."""
        said = (visible_text(message) for message in reversed(self.messages) if message["role"] == "assistant")
        return next((text for text in said if text), "")

    def _outcome(self, answer: str, stop_reason: str, last: Message | None = None) -> Outcome:
        messages = [*self.messages, last or assistant_text(answer)]
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
            blocked=stop_reason in _BLOCKING,
        )


def _joined(said: str, notes: Sequence[str]) -> str:
    cut = ["The rest of this answer was left out: it is too long to send."] if len(said) > _MAX_ANSWER_CHARS else []
    return "\n\n".join(part for part in (said[:_MAX_ANSWER_CHARS], " ".join([*notes, *cut])) if part)
