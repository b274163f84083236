"""A model that tells what it was sent, so that a caller can see what is remembered: its answers are JSON.

A question is `<tag> <number> <task>`; the tag names its session. Tasks: `chat` answers at once, `slow` after a while, `letter`
and `letters` post one or two letters first, `die` posts one with a tool that kills its process, `hang` uses one that hangs.
`pay` and `pays` post one or two with leave, one after the other, `pair` two at once; these calls always have the same ids.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from local.bedrock.reply import Reply, text_reply, tool_use_reply

_ROUNDS = {"letter": 1, "letters": 2, "die": 1, "hang": 1, "pay": 1, "pays": 2, "pair": 1}
WITH_LEAVE = ("pay", "pays", "pair")
_TOOLS = {"letter": "post_letter", "letters": "post_letter", "die": "post_and_die"}
_SLOW = 0.1  # seconds, in which other requests for the session come
_HANGS = 300.0  # seconds, far beyond all that a test waits for


class Witness:
    """A model for the stand-in. Its tool use ids are its own: no two are alike."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)

    def __call__(self, model_id: str, request: dict[str, Any]) -> Reply:
        """The reply to a Converse request."""
        messages = request["messages"]
        heard = list(questions(messages))
        question = heard[-1]
        task = question.rsplit(" ", 1)[1]
        asked = max(i for i, message in enumerate(messages) if any("text" in block for block in _of(message, "user")))
        made = sum(any("toolUse" in block for block in _of(message, "assistant")) for message in messages[asked:])
        if made >= _ROUNDS.get(task, 0):
            latency = _SLOW if task == "slow" else 0.0
            answer = json.dumps({"heard": heard, "letters": letters_known(messages)})
            return Reply(text_reply(answer).content, latency_seconds=latency)
        name = f"tooluse_{next(self._ids)}"
        if task == "hang":
            return tool_use_reply((name, "hang", {"seconds": _HANGS}))
        if task in WITH_LEAVE:
            numbers = (1, 2) if task == "pair" else (made + 1,)
            return tool_use_reply(*((f"t{n}", "post_with_leave", {"text": f"{question} {n}"}) for n in numbers))
        return tool_use_reply((name, _TOOLS[task], {"text": f"{question} {made + 1}"}))


def questions(messages: list[Any]) -> Iterator[str]:
    """The texts of the user, oldest first."""
    return (block["text"] for message in messages for block in _of(message, "user") if "text" in block)


def letters_known(messages: list[Any]) -> dict[str, str]:
    """The letters that were asked for, and what is known of each."""
    asked: dict[str, str] = {}
    known: dict[str, str] = {}
    for block in itertools.chain.from_iterable(message["content"] for message in messages):
        if use := block.get("toolUse"):
            asked[use["toolUseId"]] = use["input"].get("text", "")
        if (result := block.get("toolResult")) and asked.get(result["toolUseId"]):
            known[asked[result["toolUseId"]]] = result["content"][0].get("text", "")
    return known


def _of(message: dict[str, Any], role: str) -> list[dict[str, Any]]:
    return message["content"] if message["role"] == role else []
