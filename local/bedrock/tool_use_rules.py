"""Rules of tool uses and tool results in the messages (U-...)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from local.bedrock.case import Case, is_blank, of_kind, repeated, without_cache_points


def every_use_is_answered(case: Case) -> Iterator[str]:
    """U-UNANSWERED."""
    for index, message in enumerate(case.messages):
        following = case.messages[index + 1 : index + 2]
        answered = {tool_use_id for answer in following for tool_use_id in _result_ids(answer)}
        if missing := [tool_use_id for tool_use_id in _use_ids(message) if tool_use_id not in answered]:
            yield f"the tool uses {missing} of messages[{index}] have no toolResult in the very next message"


def every_result_answers(case: Case) -> Iterator[str]:
    """U-ORPHAN."""
    for index, message in enumerate(case.messages):
        asked = _use_ids(case.messages[index - 1]) if index else []
        if orphans := [tool_use_id for tool_use_id in _result_ids(message) if tool_use_id not in asked]:
            yield f"the toolResults {orphans} of messages[{index}] answer no toolUse of the message before"


def use_ids_are_unique(case: Case) -> Iterator[str]:
    """U-DUP-USE."""
    for index, message in enumerate(case.messages):
        if again := repeated(_use_ids(message)):
            yield f"messages[{index}] has several tool uses with the id {again[0]}"


def use_ids_are_unique_for_ever(case: Case) -> Iterator[str]:
    """U-DUP-USE-HISTORY."""
    ids = [tool_use_id for message in case.messages for tool_use_id in dict.fromkeys(_use_ids(message))]
    if again := repeated(ids):
        yield f"the tool use ids {again} come in several messages"


def result_ids_are_unique(case: Case) -> Iterator[str]:
    """U-DUP-RESULT."""
    for index, message in enumerate(case.messages):
        if again := repeated(_result_ids(message)):
            yield f"messages[{index}] has several toolResults for the id {again[0]}"


def tools_are_configured(case: Case) -> Iterator[str]:
    """U-CONFIG-REQUIRED."""
    has_tool_blocks = any(_use_ids(message) or _result_ids(message) for message in case.messages)
    if has_tool_blocks and not case.tools:
        yield "toolConfig must be there when messages hold toolUse or toolResult blocks"


def input_is_object(case: Case) -> Iterator[str]:
    """U-INPUT-OBJECT."""
    for path, use in case.blocks("toolUse"):
        if not isinstance(use["input"], dict):
            yield f"{path}.input must be a JSON object"


def error_result_says_why(case: Case) -> Iterator[str]:
    """U-RESULT-EMPTY."""
    for path, result in case.blocks("toolResult"):
        if result.get("status") == "error" and all(is_blank(block.get("text", "-")) for block in result["content"]):
            yield f"{path} has status error and must say what went wrong"


def result_has_content(case: Case) -> Iterator[str]:
    """U-RESULT-EMPTY-SUCCESS."""
    for path, result in case.blocks("toolResult"):
        if result.get("status") != "error" and not result["content"]:
            yield f"{path}.content is empty"


def result_text_is_not_blank(case: Case) -> Iterator[str]:
    """U-RESULT-BLANK."""
    for path, result in case.blocks("toolResult"):
        if any(is_blank(block.get("text", "-")) for block in result["content"]):
            yield f"{path} has a blank text"


def result_json_is_object(case: Case) -> Iterator[str]:
    """U-RESULT-JSON."""
    for path, result in case.blocks("toolResult"):
        if any("json" in block and not isinstance(block["json"], dict) for block in result["content"]):
            yield f"{path} has a json block that is no JSON object"


def results_come_first(case: Case) -> Iterator[str]:
    """U-RESULT-FIRST."""
    for index, message in enumerate(case.messages):
        are_results = ["toolResult" in block for block in message["content"]]
        if are_results != sorted(are_results, reverse=True):
            yield f"the toolResults of messages[{index}] must come before its other blocks"


def results_are_alone(case: Case) -> Iterator[str]:
    """U-RESULT-ALONE."""
    for index, message in enumerate(case.messages):
        if 0 < len(_result_ids(message)) < len(message["content"]):
            yield f"messages[{index}] has toolResults and must have no other blocks"


def uses_have_no_text(case: Case) -> Iterator[str]:
    """U-USE-ALONE."""
    for index, message in enumerate(case.messages):
        if _use_ids(message) and of_kind(message, "text"):
            yield f"messages[{index}] has tool uses and must have no text"


def no_media_beside_results(case: Case) -> Iterator[str]:
    """U-RESULT-MEDIA."""
    for index, message in enumerate(case.messages):
        if _result_ids(message) and (of_kind(message, "document") or of_kind(message, "video")):
            yield f"messages[{index}] has a document or video beside toolResults; it belongs inside one"


def status_is_for_some(case: Case) -> Iterator[str]:
    """U-STATUS-FAMILY."""
    for path, result in case.blocks("toolResult"):
        if "status" in result:
            yield f"{path}.status may not be known to this model"


def nothing_follows_uses(case: Case) -> Iterator[str]:
    """U-USE-LAST."""
    for index, message in enumerate(case.messages):
        blocks = without_cache_points(message["content"])
        if _use_ids(message) and "toolUse" not in blocks[-1]:
            yield f"messages[{index}] goes on after its last toolUse"


def _use_ids(message: dict[str, Any]) -> list[str]:
    return [use["toolUseId"] for use in of_kind(message, "toolUse")]


def _result_ids(message: dict[str, Any]) -> list[str]:
    return [result["toolUseId"] for result in of_kind(message, "toolResult")]
