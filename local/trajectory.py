"""What a turn did: which tools, in which order, with which inputs. For tests, and for replay."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any


@dataclass(frozen=True)
class ToolStep:
    """One tool use. `status` is success, error, or blank where it wasn't answered. Id and result count in no comparison.

    `result` holds the content of the toolResult, as Converse has it.
    """

    name: str
    input: dict[str, Any]
    status: str = "success"
    tool_use_id: str = field(default="", compare=False)
    result: list[dict[str, Any]] = field(default_factory=list, compare=False)

    def __str__(self) -> str:
        return f"{self.name} {json.dumps(self.input, ensure_ascii=False)}  {self.status or 'not answered'}"


def trajectory(messages: Sequence[Mapping[str, Any]]) -> list[ToolStep]:
    """The tool uses of Converse messages, in the order in which the model asked for them."""
    blocks = [block for message in messages for block in message["content"]]
    results = {block["toolResult"]["toolUseId"]: block["toolResult"] for block in blocks if "toolResult" in block}
    steps = []
    for use in (block["toolUse"] for block in blocks if "toolUse" in block):
        found = results.get(use["toolUseId"], {"status": "", "content": []})
        status = found.get("status", "success")  # Converse's own default
        steps.append(ToolStep(use["name"], use["input"], status, use["toolUseId"], found["content"]))
    return steps


def difference(expected: Sequence[ToolStep], actual: Sequence[ToolStep]) -> str:
    """Both step by step, a line each where they are the same and two where they aren't; blank where nothing differs."""
    if list(expected) == list(actual):
        return ""
    lines = []
    for number, (wanted, found) in enumerate(zip_longest(expected, actual), start=1):
        if wanted == found:
            lines.append(f"  {number}. {wanted}")
        else:
            lines += [f"- {number}. {wanted or 'nothing'}", f"+ {number}. {found or 'nothing'}"]
    return "\n".join(lines)


def assert_trajectory(messages: Sequence[Mapping[str, Any]], *expected: ToolStep) -> None:
    """Raises AssertionError, which shows expected (-) and actual (+) steps, unless the messages hold just these."""
    told = difference(expected, trajectory(messages))
    if told:
        raise AssertionError(f"The tools were not used as expected.\n{told}")
