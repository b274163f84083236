"""Turns made to fit an item: DynamoDB takes at most 400 KB, and a turn can hold far more."""

import json
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from agent.adapters.dynamodb.codec import dump, dump_messages
from agent.errors import StorageUnavailableError
from agent.messages import Message, has_reasoning, visible_text
from agent.ports import SHORTENED, WAITING, StoredTurn
from agent.turn.repair import repair

LARGEST_ITEM = 350_000  # bytes; the rest of 400 KB is for names, keys and what shortening can't foresee
_KEPT_OF_RESULT = 2_000  # characters that are left of a tool result that had to be shortened
_TOO_LARGE_TO_WAIT = "a turn that waits for approval is too large to be kept"


def fitting(turn: StoredTurn) -> StoredTurn:
    """The turn as it is where it fits, else with its largest tool results shortened, else with question and answer alone."""
    surplus = _size(turn) - LARGEST_ITEM
    if surplus <= 0:
        return turn
    if turn.status == WAITING and any(map(has_reasoning, turn.messages or [])):
        # the turn goes on from this copy, and reasoning can't stand behind results that were changed
        raise StorageUnavailableError(detail=_TOO_LARGE_TO_WAIT)
    messages: list[Message] = json.loads(dump(list(map(_without_reasoning, turn.messages or []))))
    for result in sorted(_tool_results(messages), key=_length, reverse=True):
        text = dump(result["content"])
        short = [{"text": f"{text[:_KEPT_OF_RESULT]}{SHORTENED}{len(text):,} characters.]"}]
        result["content"] = short
        surplus -= _bytes(text) - _bytes(dump(short))
        if surplus <= 0:
            break
    shorter, share = replace(turn, messages=messages), LARGEST_ITEM // 4
    while _size(shorter) > LARGEST_ITEM and share:
        if turn.status == WAITING:
            raise StorageUnavailableError(detail=_TOO_LARGE_TO_WAIT)
        shorter, share = _question_and_answer(turn, share), share // 2
    return shorter


def without_known(response: dict[str, Any], turn: StoredTurn) -> dict[str, Any]:
    """The response without what the item holds anyway, the answer above all: what is stored twice is sent twice."""
    known = {"usage": turn.usage, "turn": turn.turn}
    repaired = repair(turn.messages, set(), answered=False)
    if repaired:
        known["answer"] = visible_text(repaired[-1])
    if "approvals" in response:
        entries = [{name: value for name, value in each.items() if name != "input"} for each in response["approvals"]]
        response = {**response, "approvals": entries}
    return {name: value for name, value in response.items() if name not in known or value != known[name]}


def _question_and_answer(turn: StoredTurn, share: int) -> StoredTurn:
    question, response = _shortened(turn.question, share), turn.response
    messages: list[Message] = [{"role": "user", "content": [{"text": question}]}]
    if response is not None:
        answer = _shortened(str(response.get("answer", "")), share)
        response = {**response, "answer": answer, "tool_uses": response.get("tool_uses", [])[:100]}
        said = visible_text(turn.messages[-1]) if turn.messages and turn.messages[-1]["role"] == "assistant" else ""
        messages += [{"role": "assistant", "content": [{"text": _shortened(said, share)}]}] if said else []
    return replace(turn, question=question, response=response, messages=messages if turn.messages else None)


def _shortened(text: str, share: int) -> str:
    kept = text
    while kept and (size := _bytes(dump(kept))) > share:  # as JSON, where a character may take six bytes
        kept = kept[: len(kept) * share // size]
    return text if kept is text else f"{kept}{SHORTENED}{len(text):,} characters.]"


def _size(turn: StoredTurn) -> int:
    response = dump(without_known(turn.response, turn)) if turn.response else ""
    return sum(map(_bytes, (turn.question, dump_messages(turn.messages) if turn.messages else "", response)))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _tool_results(messages: list[Message]) -> Iterator[dict[str, Any]]:
    return (block["toolResult"] for message in messages for block in message["content"] if "toolResult" in block)


def _length(result: dict[str, Any]) -> int:
    return len(dump(result["content"]))


def _without_reasoning(message: Message) -> Message:
    return {"role": message["role"], "content": [b for b in message["content"] if "reasoningContent" not in b]}
