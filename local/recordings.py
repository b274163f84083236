"""Stored turns as recordings: what the model answered, what its tools gave, and how it ended. Imports the core.

The core is no package: `local.function.importable` makes it one that can be imported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.adapters.dynamodb.items import from_item
from agent.messages import Message, has_tool_results, tool_uses, visible_text
from agent.ports import RUNNING, WAITING, StoredTurn
from agent.sessions.approvals import DENIED, EXPIRED, waiting_entries
from agent.sessions.states import with_closed
from agent.turn.end_notes import ending
from agent.turn.repair import repair
from local.session_table import Item
from local.trajectory import ToolStep, trajectory


@dataclass(frozen=True)
class Answered:
    """One reply of the model: the assistant message, and the stop reason that it came with."""

    message: Message
    stop_reason: str


@dataclass(frozen=True)
class Recording:
    """A stored turn. `opening` ends with the question, `rest` is what followed it.

    `decisions` tell by tool use id why a person let it not run, or are blank; there are none where nobody was asked.
    `answer` and `stop_reason` are blank where the turn never ended.
    `lost` counts the tool uses that were too long to be stored.
    """

    key: str
    turn: int
    question: str
    opening: list[Message]
    rest: list[Message]
    decisions: Mapping[str, str]
    answer: str
    stop_reason: str
    lost: int

    @property
    def replies(self) -> list[Answered]:
        """What the model answered, in order. An end that isn't the model's own is played as if it were."""
        said = [message for message in self.rest if message["role"] == "assistant"]
        return [
            Answered(each, "tool_use" if tool_uses(each) else self._end(visible_text(each), each is said[-1]))
            for each in said
        ]

    @property
    def steps(self) -> list[ToolStep]:
        """The tool uses of the turn, with their recorded results."""
        return trajectory(self.rest)

    def _end(self, text: str, is_last: bool) -> str:
        """The stored stop reason, unless what is stored has our sentence about it, which would be added again."""
        reason = self.stop_reason if is_last and self.stop_reason not in ("", "tool_use", WAITING) else "end_turn"
        return reason if ending(reason, text, lambda: text, tools_left=False) == text else "end_turn"


def recordings(items: Iterable[Item]) -> list[Recording]:
    """The turns that hold something to run again, in their order."""
    return [each for each in map(_recording, map(from_item, items)) if each]


def waiting(items: Sequence[Item]) -> list[dict[str, Any]]:
    """The `approvals` that a session waits for."""
    turns = with_closed([from_item(item) for item in reversed(items)])
    return next((waiting_entries(turn) for turn in turns if turn.status == WAITING), [])


def _decisions(messages: Sequence[Message]) -> dict[str, str]:
    """What was said of the tool uses that were answered, as the model was told it."""
    blocks = (block for message in messages for block in message["content"])
    results = [block["toolResult"] for block in blocks if "toolResult" in block]
    told = {result["toolUseId"]: result["content"][0].get("text", "") for result in results}
    return {name: text if text.startswith((DENIED, EXPIRED)) else "" for name, text in told.items()}


def _recording(stored: StoredTurn) -> Recording | None:
    messages = repair(stored.messages, set(), closed=False, answered=False, reasoning=True)
    response = stored.response or {}
    answer, stop_reason = str(response.get("answer", "")), str(response.get("stop_reason", ""))
    questions = [
        number for number, each in enumerate(messages) if each["role"] == "user" and not has_tool_results(each)
    ]
    if not questions or questions[-1] == len(messages) - 1:
        return None
    opening, rest = messages[: questions[-1] + 1], messages[questions[-1] + 1 :]
    used = response.get("tool_uses")
    return Recording(
        key=stored.key,
        turn=stored.turn,
        question=stored.question,
        opening=opening,
        rest=rest,
        decisions=_decisions(messages) if stored.decisions else {},
        answer=answer if stored.status != RUNNING else "",
        stop_reason=stop_reason if stored.status != RUNNING else "",
        lost=0 if not isinstance(used, list) or trajectory(messages) else len(used),
    )
