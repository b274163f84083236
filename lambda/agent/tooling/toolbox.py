"""The tools on offer, and their calls: validated, in parallel, each within its time, each answered whatever happens.

A call never raises into the loop. A thread that outlives its time is left behind; while too many such threads live, further
calls are refused, so that they can't pile up in a warm function.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.deadline import Deadline, start
from agent.errors import ToolError
from agent.listening import Listener
from agent.messages import Block, clean_text
from agent.ports import ToolCall, ToolRecord
from agent.tooling.own_code import outcome
from agent.tooling.schemas import WrongArgumentsError
from agent.tooling.tool import Tool, ToolContext
from agent.tooling.tool_result import cut, result_content

_LOGGER = logging.getLogger(__name__)
_MAX_HANGING = 32  # threads of earlier calls; each holds some memory, and Lambda allows 1,024 threads


class ToolLimits(msgspec.Struct, frozen=True):
    """Bounds on the tool uses of one step; the names are those of the settings."""

    timeout_seconds: float = 20
    result_max_chars: int = 20_000
    max_uses_per_step: int = 32
    max_parallel: int = 8


class _Answer(msgspec.Struct, frozen=True):
    status: str
    content: list[Block]
    seconds: float = 0
    error: str = ""
    problem: BaseException | None = None


class _Running(msgspec.Struct, frozen=True):
    number: int
    future: Future[_Answer]
    ends: Deadline
    began: float
    side_effects: bool


class Toolbox:
    """The tools that a function offers, by name."""

    def __init__(
        self,
        tools: Sequence[Tool[..., Any]],
        limits: ToolLimits,
        secrets_of: Callable[[str, Deadline], Mapping[str, str]] = lambda module, ends: {},
    ) -> None:
        """`secrets_of` gives the secrets of a module that offers a tool, to be read before the deadline."""
        self._tools = {each.name: each for each in tools}
        self._limits, self._secrets_of = limits, secrets_of
        self._hanging: list[Future[_Answer]] = []

    @property
    def specs(self) -> list[dict[str, Any]]:
        """The `tools` of a Converse `toolConfig`."""
        return [each.spec for each in self._tools.values()]

    def has_side_effects(self, calls: Sequence[ToolCall]) -> bool:
        """Whether one of the calls would run a tool that changes something outside."""
        return any(not call.problem and self._offers_side_effects(call.name) for call in calls)

    def waiting(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """The calls that may run only after a person's yes."""
        return [call for call in calls[: self._limits.max_uses_per_step] if self._waits(call)]

    def changes_made(self, records: Sequence[ToolRecord]) -> bool:
        """Whether a tool that changes something outside was run, or may have been."""
        return any(
            self._offers_side_effects(record.name) and record.error not in ("refused", "not_run") for record in records
        )

    def run(
        self,
        calls: Sequence[ToolCall],
        deadline: Deadline,
        context: Callable[[ToolCall, Deadline], ToolContext],
        refusals: Mapping[str, str] = MappingProxyType({}),
        listener: Listener | None = None,
    ) -> list[ToolRecord]:
        """Answers every call, in the order of the calls, no later than shortly after the deadline.

        `context` makes what a call may know of the turn; `refusals` tells by tool use id why a call is not run. The result of
        each record is a toolResult block. The listener hears of
        what begins to run, and of each record once it is there.
        """
        records: dict[int, ToolRecord] = {}

        def answered(number: int, answer: _Answer) -> None:
            records[number] = self._record(calls[number], answer)
            if listener:
                listener.tool_result(records[number])

        running: dict[Future[_Answer], _Running] = {}
        ready = deque(enumerate(calls))
        while ready or running:
            while ready and len(running) < self._limits.max_parallel:
                number, call = ready.popleft()
                try:
                    if call.tool_use_id in refusals:
                        raise ToolError(refusals[call.tool_use_id])
                    started = self._start(number, call, deadline, context)
                    running[started.future] = started
                    if listener:
                        listener.tool_use(call)
                except ToolError as error:
                    answered(number, _failed(error.message, "not_run" if call.name in self._tools else "refused"))
            first = min((each.ends.left() for each in running.values()), default=0.0)
            wait(running, timeout=max(first, 0), return_when=FIRST_COMPLETED)
            for each in list(running.values()):
                answer = self._answer_of(each)
                if answer:
                    answered(each.number, answer)
                    del running[each.future]
        return [records[number] for number in range(len(calls))]

    def _waits(self, call: ToolCall) -> bool:
        return not call.problem and call.name in self._tools and self._tools[call.name].waits(call.input)

    def _offers_side_effects(self, name: str) -> bool:
        return name in self._tools and self._tools[name].side_effects

    def _find(self, call: ToolCall) -> Tool[..., Any]:
        if call.name not in self._tools:
            offered = ", ".join(self._tools) or "none"
            raise ToolError(f"There is no tool named {call.name}. The tools are: {offered}.")
        if call.problem:
            raise ToolError(call.problem)
        return self._tools[call.name]

    def _start(
        self, number: int, call: ToolCall, deadline: Deadline, context: Callable[[ToolCall, Deadline], ToolContext]
    ) -> "_Running":
        if number >= self._limits.max_uses_per_step:
            raise ToolError(f"Not run: at most {self._limits.max_uses_per_step} tool uses can be made at once.")
        each = self._find(call)
        limit = min(each.timeout_seconds or self._limits.timeout_seconds, deadline.left())
        if limit <= 0:
            raise ToolError("Not run: no time was left.")
        ends = Deadline.after(limit, deadline.clock)
        self._hanging = [future for future in self._hanging if not future.done()]
        if len(self._hanging) >= _MAX_HANGING:
            _LOGGER.error("tool calls hang", extra={"threads": len(self._hanging)})
            raise ToolError("Not run: too many earlier tool calls have not ended yet.")
        try:
            own = replace(context(call, ends), secrets=self._secrets_of(each.module, ends))
            future = start(lambda: _call(each, call, own, self._limits.result_max_chars))
        except RuntimeError as error:
            raise ToolError("Not run: the process can have no more threads.") from error
        return _Running(number, future, ends, time.perf_counter(), each.side_effects)

    def _answer_of(self, each: "_Running") -> _Answer | None:
        if each.future.done():
            return each.future.result()
        if each.ends.left() > 0:
            return None
        self._hanging.append(each.future)
        seconds = time.perf_counter() - each.began
        text = f"The tool did not answer within {seconds:.3g} s."
        if each.side_effects:
            text += (
                " It may still do its work: the outcome is unknown. Do not run it again unless the user asks for it."
            )
        return _failed(text, "timeout", seconds)

    def _record(self, call: ToolCall, answer: _Answer) -> ToolRecord:
        result = {"toolUseId": call.tool_use_id, "content": answer.content, "status": answer.status}
        return ToolRecord(
            tool_use_id=call.tool_use_id,
            name=call.name,
            status=answer.status,
            milliseconds=round(answer.seconds * 1000),
            input=call.input,
            result={"toolResult": result},
            error=answer.error,
            problem=answer.problem,
        )


def _call(each: Tool[..., Any], call: ToolCall, context: ToolContext, limit: int) -> _Answer:
    """Runs in the tool's thread. Everything that a tool may raise ends here: it is the model's to read, or the log's."""
    began = time.perf_counter()
    content, error = outcome(lambda: result_content(each.bind(call.input, context)(), limit))
    seconds = time.perf_counter() - began
    match error:
        case None:
            return _Answer("success", content or [], seconds)
        case WrongArgumentsError():
            text = f"{each.name} was not run, its arguments are wrong: {error.message}."
            return _failed(cut(clean_text(text), limit), "refused")
        case ToolError():
            text = clean_text(error.message if error.message.strip() else ToolError.default)
            return _failed(cut(text, limit), "tool_error", seconds)
    text = f"{each.name} failed unexpectedly. Nothing more is known about it here."
    return _failed(text, type(error).__name__, seconds, error)


def _failed(text: str, error: str, seconds: float = 0, problem: BaseException | None = None) -> _Answer:
    return _Answer("error", [{"text": text}], seconds, error, problem)
