"""Stored turns as recordings: what the model answered, what its tools gave, and how it ended. Imports the core.

The core is no package: `local.function.importable` makes it one that can be imported.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.adapters.dynamodb.items import from_item
from agent.messages import NO_ANSWER, Message, assistant_text, has_tool_results, tool_uses, visible_text
from agent.ports import DONE, RUNNING, WAITING, Decision, StoredTurn
from agent.sessions.approvals import waiting_entries
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

    `answer` and `stop_reason` are blank where the turn never ended, `answer` also where it was closed by another question.
    `lost` counts the tool uses that were too long to be stored.
    """

    key: str
    turn: int
    question: str
    opening: list[Message]
    rest: list[Message]
    decisions: Mapping[str, Decision]
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
    """The `approvals` of a session's newest turn, if it waits for them."""
    newest = from_item(items[-1]) if items else None
    return waiting_entries(newest) if newest and newest.status == WAITING else []


def _recording(stored: StoredTurn) -> Recording | None:
    messages = repair(stored.messages, set(), closed=False, answered=False, reasoning=True)
    response, decisions = stored.response or {}, stored.decisions
    answer, stop_reason = str(response.get("answer", "")), str(response.get("stop_reason", ""))
    if stored.status == DONE and len(messages) > 2 and messages[-1] == assistant_text(NO_ANSWER):
        # closed by another question while it waited: nothing of its last step was run, whatever was said of it
        messages, answer, stop_reason = messages[:-2], "", WAITING
        last = {use["toolUseId"] for use in tool_uses(messages[-1])}
        decisions = {name: each for name, each in decisions.items() if name not in last}
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
        decisions=decisions,
        answer=answer if stored.status != RUNNING else "",
        stop_reason=stop_reason if stored.status != RUNNING else "",
        lost=0 if not isinstance(used, list) or trajectory(messages) else len(used),
    )
