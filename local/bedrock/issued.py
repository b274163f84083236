"""What the stand-in has answered with reasoning: a real service knows its own by the signature, this one by memory."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """One answer: its reasoning blocks in order, the ids of its calls, and a digest of all that came before it."""

    reasoning: list[dict[str, Any]]
    tool_use_ids: frozenset[str]
    prefix: str


class Issued:
    """The answers given so far; safe to use from several threads."""

    def __init__(self) -> None:
        self._answers: list[Answer] = []
        self._lock = threading.Lock()

    def record(self, request: dict[str, Any], content: list[Any]) -> None:
        """Remember an answer to a request, if a model could have made it (one of a broken shape can't be judged)."""
        blocks = [block for block in content if isinstance(block, dict)]
        ids = {use.get("toolUseId") for block in blocks if isinstance(use := block.get("toolUse"), dict)}
        answer = Answer(
            [block["reasoningContent"] for block in blocks if isinstance(block.get("reasoningContent"), dict)],
            frozenset(tool_use_id for tool_use_id in ids if isinstance(tool_use_id, str)),
            prefix_digest(request, len(request.get("messages", []))),
        )
        with self._lock:
            self._answers.append(answer)

    def with_call(self, tool_use_ids: set[str]) -> list[Answer]:
        """The answers that asked for one of these calls; several, where a model repeats its ids."""
        return [answer for answer in self._snapshot() if answer.tool_use_ids & tool_use_ids]

    def with_reasoning(self, block: dict[str, Any]) -> list[Answer]:
        """The answers that held exactly this reasoning."""
        return [answer for answer in self._snapshot() if block in answer.reasoning]

    def reasoning_texts(self) -> list[dict[str, Any]]:
        """Every reasoning text issued, with its signature."""
        blocks = [block for answer in self._snapshot() for block in answer.reasoning]
        return [block["reasoningText"] for block in blocks if isinstance(block.get("reasoningText"), dict)]

    def _snapshot(self) -> list[Answer]:
        with self._lock:
            return list(self._answers)


def prefix_digest(request: dict[str, Any], message_count: int) -> str:
    """A digest of what stands before a message: system prompt, tools and earlier messages, cache points aside."""
    tools = request.get("toolConfig", {}).get("tools", [])
    messages = [
        {"role": message["role"], "content": _settled(message["content"])}
        for message in request.get("messages", [])[:message_count]
    ]
    parts = [_settled(request.get("system", [])), _settled(tools), messages]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _settled(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [block for block in blocks if "cachePoint" not in block]
