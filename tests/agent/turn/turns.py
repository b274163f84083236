"""A turn with fakes around it, and a few tools to run in it."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

from agent.deadline import Deadline
from agent.errors import ToolError
from agent.messages import Message, user_text
from agent.ports import BLOCKED, DONE, Model, StoredTurn, ToolCall, ToolRecord
from agent.tooling.tool import Tool, ToolContext, tool
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn.loop import Limits, Turn
from agent.turn.model_reply import clean_reply
from agent.turn.outcome import Outcome
from agent.turn.telling import Telling
from tests.fakes import FakeModel, Heard, reply

SECRET = "secret of arn:aws:iam::123456789012:role/x"  # what the text of a foreign error may hold


@tool
def echo(text: Annotated[str, "what to say"] = "echo") -> str:
    """Say it again."""
    return text


@tool
def boom() -> str:
    """Fail in a way that nobody foresaw."""
    raise RuntimeError(SECRET)


@tool
def refuse() -> str:
    """Fail with a reason."""
    raise ToolError("The shop is closed.")


_heard: list[Heard] = []  # what is heard of the turns of a test that is run streamed


@contextmanager
def streamed() -> Iterator[None]:
    """Within the context, every turn has a listener."""
    _heard.append(Heard())
    try:
        yield
    finally:
        _heard.clear()


@dataclass
class Notes:
    """What a turn told the outside while it ran."""

    written: list[list[Message]] = field(default_factory=list)
    records: list[ToolRecord] = field(default_factory=list)


def spy(name: str, *, side_effects: bool = False) -> tuple[Tool[[str], str], list[str]]:
    """A tool that remembers what it was called with."""
    calls: list[str] = []

    @tool(name=name, side_effects=side_effects)
    def remember(path: str = "") -> str:
        """Remember a path."""
        calls.append(path)
        return "remembered"

    return remember, calls


def tool_context(call: ToolCall, ends: Deadline) -> ToolContext:
    """The context of a tool use in session s."""
    return ToolContext("s", "", call.tool_use_id, ends, logging.getLogger("tests"))


def make_turn(
    model: Model,
    tools: Sequence[Tool[..., Any]] = (echo, boom, refuse),
    *,
    question: str = "question",
    history: Sequence[list[Message]] = (),
    limits: Limits | None = None,
    deadline: Deadline | None = None,
    tool_limits: ToolLimits | None = None,
    notes: Notes | None = None,
    write_down: Callable[[Sequence[Message]], None] | None = None,
    system: str = "You help.",
) -> Turn:
    """A turn that is ready to run."""
    notes = notes or Notes()
    return Turn(
        model=model,
        toolbox=Toolbox(tools, tool_limits or ToolLimits()),
        system=system,
        history=list(history),
        messages=[user_text(question)],
        seen_ids=set(),
        limits=limits or Limits(),
        deadline=deadline or Deadline.after(60),
        make_context=tool_context,
        before_side_effects=write_down or (lambda messages: notes.written.append(list(messages))),
        after_tool_use=notes.records.append,
        listener=Telling(_heard[0]) if _heard else None,
    )


def stored(outcome: Outcome, number: int = 1, question: str = "question") -> StoredTurn:
    """The turn as a session keeps it."""
    return StoredTurn(
        key="s",
        turn=number,
        status=BLOCKED if outcome.blocked else DONE,
        question=question,
        messages=outcome.messages,
        response={"answer": outcome.answer},
    )


def ask_again(history: Sequence[list[Message]], tools: Sequence[Tool[..., Any]] = (echo, boom, refuse)) -> FakeModel:
    """Runs the next turn behind a history, so that the model judges it; returns that model."""
    model = FakeModel([reply("ok")])
    assert make_turn(model, tools, question="next question", history=history).run().answer == "ok"
    return model


def run_tools(
    tools: Sequence[Tool[..., Any]], *uses: dict[str, Any], limits: ToolLimits | None = None
) -> list[ToolRecord]:
    """Answers these toolUse blocks as those of one reply."""
    _, calls = clean_reply(uses, set())
    return Toolbox(tools, limits or ToolLimits()).run(calls, Deadline.after(30), tool_context)


def text_of(record: ToolRecord) -> str:
    """All that a result says."""
    return str(record.result["toolResult"]["content"])
