"""A stored turn, run again by today's loop with today's tools and the model's recorded answers. Imports the core."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from agent.deadline import Deadline
from agent.errors import ToolError
from agent.messages import Block, Message, Usage, tool_uses
from agent.ports import SHORTENED, ModelReply, ModelRequest, TextListener, ToolCall
from agent.settings import Settings
from agent.tooling.tool import Tool, ToolContext
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn.loop import Limits, Turn
from local.recordings import Answered, Recording
from local.trajectory import ToolStep, trajectory

_SECONDS = 120.0  # of a turn, as in the other commands
_CONTEXT = "tool context"  # no parameter of a tool can be called so
_MODEL = "recorded"
ENDED = "recording_ended"  # the stop reason of a turn that asks for more than was recorded


@dataclass(frozen=True)
class Step:
    """A tool use, as it was recorded and as it came today; None where it wasn't made.

    `repeated`: the tool was not run, since it has side effects, and its recorded result was used.
    """

    recorded: ToolStep | None
    today: ToolStep | None
    repeated: bool

    @property
    def differs(self) -> bool:
        """Whether something else came out; what was never answered can't differ."""
        if self.recorded is None or self.today is None:
            return True
        if not self.recorded.status:
            return False
        is_same = self.repeated or _is_same(self.recorded.result, self.today.result)
        return self.recorded != self.today or not is_same


@dataclass(frozen=True)
class Replayed:
    """A turn that was run again: its steps, and how it ended."""

    recording: Recording
    steps: list[Step]
    answer: str
    stop_reason: str

    @property
    def answer_differs(self) -> bool:
        """Whether the turn ended otherwise, as far as it is known how it had."""
        before = self.recording
        return bool(before.stop_reason) and (
            self.stop_reason != before.stop_reason or (bool(before.answer) and self.answer != before.answer)
        )

    @property
    def differs(self) -> bool:
        """Whether anything differs."""
        return self.answer_differs or any(step.differs for step in self.steps)


def replay(
    recording: Recording,
    tools: Sequence[Tool[..., Any]],
    settings: Settings,
    *,
    run_side_effects: bool = False,
    secrets_of: Callable[[str, Deadline], Mapping[str, str]] = lambda module, ends: {},
) -> Replayed:
    """Runs the turn again. Tools with side effects aren't run unless it is said so: their recorded results are used."""
    recorded = {step.tool_use_id: step for step in recording.steps}
    played = _Played(recorded)
    offered = [each if run_side_effects or not each.side_effects else played.stands_in_for(each) for each in tools]
    limits = ToolLimits(
        timeout_seconds=settings.tool_timeout_seconds,
        result_max_chars=settings.tool_result_max_chars,
        max_uses_per_step=settings.max_tool_uses_per_step,
        max_parallel=settings.max_parallel_tools,
    )
    turn = _turn(recording, Toolbox(offered, limits, secrets_of), settings)
    answer, stop_reason = _run(turn, recording)
    today = trajectory(turn.messages[len(recording.opening) :])
    steps = [
        Step(before, now, repeated=now is not None and now.tool_use_id in played.ids)
        for before, now in zip_longest(recording.steps, today)
    ]
    return Replayed(recording, steps, answer, stop_reason)


class _RecordingEndedError(Exception):
    """The loop asked the model for more than was recorded."""


class _RecordedModel:
    """The Model port over recorded replies."""

    def __init__(self, replies: Sequence[Answered]) -> None:
        self._left = list(replies)
        self.model_id = _MODEL

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        if not self._left:
            raise _RecordingEndedError
        reply = self._left.pop(0)
        return ModelReply(reply.message["content"], reply.stop_reason, Usage(), _MODEL)

    @property
    def has_ended(self) -> bool:
        return not self._left


@dataclass
class _Played:
    """Stands in for tools that must not be run again; `ids` are the tool uses that it answered."""

    recorded: Mapping[str, ToolStep]
    ids: set[str] = field(default_factory=set)

    def stands_in_for(self, tool: Tool[..., Any]) -> Tool[..., Any]:
        """The tool, which still checks its arguments and asks for approval, but answers as it was recorded."""
        name = tool.context_parameter or _CONTEXT
        return replace(tool, function=lambda **given: self._answer(given[name]), context_parameter=name)

    def _answer(self, context: ToolContext) -> Any:
        self.ids.add(context.tool_use_id)
        step = self.recorded.get(context.tool_use_id)
        if step is None or not step.status:
            raise ToolError("Not run: it has side effects, and no result of it was recorded.")
        if step.status == "error":
            raise ToolError(_text(step.result))
        return step.result[0]["json"] if "json" in step.result[0] else _text(step.result)


def _turn(recording: Recording, toolbox: Toolbox, settings: Settings) -> Turn:
    caller, _, session_id = recording.key.rpartition("#")
    logger = logging.getLogger(__name__)

    def context(call: ToolCall, ends: Deadline) -> ToolContext:
        return ToolContext(session_id, caller, call.tool_use_id, ends, logger)

    return Turn(
        model=_RecordedModel(recording.replies),
        toolbox=toolbox,
        system="",
        history=[],
        messages=list(recording.opening),
        seen_ids={use["toolUseId"] for message in recording.opening for use in tool_uses(message)},
        limits=Limits(settings.max_steps),
        deadline=Deadline.after(_SECONDS),
        make_context=context,
        before_side_effects=_write_nothing,
        after_tool_use=lambda record: None,
        decisions=recording.decisions,
    )


def _write_nothing(messages: Sequence[Message]) -> None:
    """A replay leaves no trace in the session."""


def _run(turn: Turn, recording: Recording) -> tuple[str, str]:
    """Answer and stop reason; `turn.messages` are whole afterwards. What was approved then is approved now."""
    while True:
        try:
            outcome = turn.run()
        except _RecordingEndedError:
            return "", ENDED
        turn.messages = outcome.messages
        if not outcome.waiting or any(call.tool_use_id not in recording.decisions for call in outcome.waiting):
            break
    ended_alike = isinstance(turn.model, _RecordedModel) and turn.model.has_ended and not outcome.waiting
    return outcome.answer, _stop_reason(outcome.stop_reason, recording, ended_alike)


def _stop_reason(today: str, recording: Recording, ended_alike: bool) -> str:
    """A recorded end that wasn't the model's own is played as its own."""
    return recording.stop_reason or today if ended_alike and today == "end_turn" else today


def _text(content: Sequence[Block]) -> str:
    return "\n".join(block["text"] if "text" in block else json.dumps(block.get("json")) for block in content)


def _is_same(recorded: Sequence[Block], today: Sequence[Block]) -> bool:
    text = _text(recorded)
    if SHORTENED in text:  # in the stored copy: what is left of it is compared
        whole = json.dumps(today, ensure_ascii=False, separators=(",", ":"))
        return whole.startswith(text.partition(SHORTENED)[0]) and f"{SHORTENED}{len(whole):,} " in text
    return list(recorded) == list(today)
