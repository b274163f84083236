"""How a turn ended."""

from collections.abc import Sequence

import msgspec

from agent.messages import Message, Usage
from agent.ports import ToolCall, ToolRecord


class Outcome(msgspec.Struct, frozen=True):
    """How a turn ended. `answer` is for the caller, notes of ours included; `messages` hold what user, model and tools said.

    They begin with the question; where the model had no last word they end with the user's. `blocked`: a guardrail stopped it.
    """

    messages: list[Message]
    answer: str
    stop_reason: str
    steps: int
    usage: Usage
    model_id: str
    tool_records: list[ToolRecord]
    blocked: bool
    waiting: Sequence[ToolCall] = ()  # tool uses that need a person's yes; the messages then end with these
