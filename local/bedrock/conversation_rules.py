"""Rules of the conversation: roles, their order, and content that is there and not blank (C-...)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from local.bedrock.case import MEDIA, Case, is_blank, of_kind, without_cache_points

_ASSISTANT_ONLY = ("toolUse", "reasoningContent", "citationsContent")
_USER_ONLY = ("toolResult", *MEDIA, "searchResult")


def first_is_user(case: Case) -> Iterator[str]:
    """C-FIRST-USER: a stored prompt alone may come without messages."""
    turns = _turns(case)
    if not turns and not case.model.is_prompt:
        yield "a conversation must have messages and start with a user message"
    elif turns and turns[0]["role"] != "user":
        yield "a conversation must start with a user message"


def roles_alternate(case: Case) -> Iterator[str]:
    """C-ALTERNATE."""
    turns = _turns(case)
    for index, (message, following) in enumerate(pairwise(turns)):
        if message["role"] == following["role"]:
            yield f"roles must alternate, but messages[{index}] and the next are both from the {message['role']}"


def last_is_user(case: Case) -> Iterator[str]:
    """C-LAST-USER, for all models: some older ones take a prefilled answer, but a history that has none suits all."""
    turns = _turns(case)
    if turns and turns[-1]["role"] != "user":
        yield "the last message must be the user's"


def prefill_is_trimmed(case: Case) -> Iterator[str]:
    """C-LAST-WHITESPACE."""
    turns = _turns(case)
    if turns and turns[-1]["role"] == "assistant" and turns[-1]["content"]:
        text = turns[-1]["content"][-1].get("text", "")
        if text != text.rstrip():
            yield "a final assistant message must not end with white space"


def no_system_role(case: Case) -> Iterator[str]:
    """C-ROLE-SYSTEM."""
    for index, message in enumerate(case.messages):
        if message["role"] == "system":
            yield f"messages[{index}] has the role system, which most models do not take"


def content_is_there(case: Case) -> Iterator[str]:
    """C-EMPTY-CONTENT."""
    for index, message in enumerate(case.messages):
        if not without_cache_points(message["content"]):
            yield f"messages[{index}].content is empty"


def text_is_not_blank(case: Case) -> Iterator[str]:
    """C-BLANK-TEXT."""
    yield from (f"{path} is blank" for path, text in case.blocks("text") if is_blank(text))
    for path, guarded in case.blocks("guardContent"):
        if is_blank(_guarded_text(guarded)):
            yield f"{path} is blank"


def system_is_not_blank(case: Case) -> Iterator[str]:
    """C-SYSTEM-BLANK."""
    for index, block in enumerate(case.system):
        text = _guarded_text(block["guardContent"]) if "guardContent" in block else block.get("text", "-")
        if is_blank(text):
            yield f"system[{index}] is blank"


def blocks_fit_role(case: Case) -> Iterator[str]:
    """C-BLOCK-ROLE."""
    for index, message in enumerate(case.messages):
        misplaced = _USER_ONLY if message["role"] == "assistant" else _ASSISTANT_ONLY
        for kind in misplaced:
            if of_kind(message, kind):
                yield f"messages[{index}] is from the {message['role']} and must not hold {kind}"


def _turns(case: Case) -> list[dict[str, Any]]:
    # Messages of the role system are judged by no_system_role alone.
    return [message for message in case.messages if message["role"] != "system"]


def _guarded_text(guarded: dict[str, Any]) -> str:
    return str(guarded["text"]["text"]) if "text" in guarded else "-"
