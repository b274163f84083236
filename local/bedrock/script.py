"""A model that plays a script: a JSON list of answers, errors and mischief, one for each request, in order.

An entry is an object of one of these kinds; all but `drop`, `silent` and `garbage` may stand with `latency_seconds`, and with
`pause_seconds`, for which a stream waits before each of its pieces but the first.

    {"text": "hi"}                                        one text block
    {"tool_use": {"name": "sine", "input": {"x": 1}}}     a tool use; also a list of them, and after a "text"
    {"content": [{"text": "hi"}, ...]}                    the content blocks as Converse sends them, unchecked
    {"error": "ThrottlingException"}                      an error of the service
    {"drop": "before"} or {"drop": "middle"}              the connection closes before the answer or within it
    {"silent": true}                                      no answer until the server closes
    {"garbage": true}                                     a body that is no JSON

Answers may add `stop_reason` (any text; by default tool_use where a tool is used, else end_turn) and `usage`
(Converse's keys; by default estimated), and, but for `content`, `reasoning`: a text that is sent first, with a
signature. A tool use may have an `id`; without one it gets one of its own. An error may add `status` (by default that
of the exception), `message`, and `in_stream`: true, to come as an exception within a stream, after `text` or `content`
if there is one. `{"drop": "middle"}` may have `text` or `content` too. Bytes (redactedContent) are base64 text.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from local.bedrock.reply import ErrorReply, Reply, error_reply, reasoning_block
from local.bedrock.service_model import error_statuses

_ANSWER = {"text", "tool_use", "content", "reasoning", "stop_reason", "usage", "latency_seconds", "pause_seconds"}
_ALLOWED: dict[str, set[str]] = {
    "error": {"error", "status", "message", "in_stream", "text", "content", "latency_seconds", "pause_seconds"},
    "drop": {"drop", "text", "content"},
    "silent": {"silent"},
    "garbage": {"garbage"},
    "content": {"content", "stop_reason", "usage", "latency_seconds", "pause_seconds"},
    "text": _ANSWER - {"content"},
    "tool_use": _ANSWER - {"content"},
    "reasoning": _ANSWER - {"content"},
}
_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (lambda value: isinstance(value, str), "a string"),
    "reasoning": (lambda value: isinstance(value, str), "a string"),
    "stop_reason": (lambda value: isinstance(value, str), "a string"),
    "message": (lambda value: isinstance(value, str), "a string"),
    "error": (lambda value: isinstance(value, str) and bool(value), "the name of an exception"),
    "content": (lambda value: isinstance(value, list), "a list of content blocks"),
    "usage": (lambda value: isinstance(value, dict), "an object of Converse's token counts"),
    "latency_seconds": (lambda value: _is_number(value) and value >= 0, "a number of seconds"),
    "pause_seconds": (lambda value: _is_number(value) and value >= 0, "a number of seconds"),
    "status": (lambda value: _is_number(value) and 400 <= value <= 599, "an HTTP status from 400 to 599"),
    "drop": (lambda value: value in ("before", "middle"), '"before" or "middle"'),
    "silent": (lambda value: value is True, "true"),
    "garbage": (lambda value: value is True, "true"),
    "in_stream": (lambda value: isinstance(value, bool), "true or false"),
    "tool_use": (
        lambda value: _are_tool_uses(value),
        'an object with "name" and "input" (and "id"), or a list of them',
    ),
}


class ScriptError(Exception):
    """A script that can't be played; the text names the entry and what is allowed."""


class ScriptedModel:
    """A model that answers with the entries of a script in order, and with a ValidationException once it has ended.

    Entries are objects as in a script file, or replies. Raises ScriptError for one that is neither.
    """

    def __init__(self, entries: Sequence[dict[str, Any] | Reply]) -> None:
        self._replies = [
            entry if isinstance(entry, Reply) else _reply(entry, position)
            for position, entry in enumerate(entries, start=1)
        ]
        self._played = 0
        self._lock = threading.Lock()

    def __call__(self, model_id: str, request: dict[str, Any]) -> Reply:
        """The next reply, whatever is asked."""
        with self._lock:
            position, self._played = self._played, self._played + 1
        if position < len(self._replies):
            return self._replies[position]
        message = f"The script has ended: it has {len(self._replies)} entries, and this is request {position + 1}."
        return error_reply("ValidationException", message=message)

    @property
    def left(self) -> int:
        """How many entries have not been played."""
        return max(0, len(self._replies) - self._played)


def load_script(path: Path) -> ScriptedModel:
    """The model that plays a file. Raises ScriptError where it can't be read or is no script."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScriptError(f"The script {path} can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ScriptError(f"The script {path} is no JSON: {error}.") from error
    if not isinstance(entries, list):
        raise ScriptError(f"The script {path} must be a JSON list of entries.")
    try:
        return ScriptedModel(entries)
    except ScriptError as error:
        raise ScriptError(f"The script {path} can't be played. {error}") from error


def _reply(entry: Any, position: int) -> Reply:
    _check(entry, position)
    latency, pause = (float(entry.get(f"{name}_seconds", 0.0)) for name in ("latency", "pause"))
    content = _content(entry, position)
    if "error" in entry:
        status = entry.get("status", error_statuses().get(entry["error"], 400))
        message, in_stream = entry.get("message", ""), entry.get("in_stream", False)
        error = ErrorReply(entry["error"], status, message, in_stream)
        return Reply(content, latency_seconds=latency, pause_seconds=pause, error=error)
    if "drop" in entry:
        return Reply(content, mischief="drop_before" if entry["drop"] == "before" else "drop_middle")
    if "silent" in entry:
        return Reply([], mischief="silent")
    if "garbage" in entry:
        return Reply([], mischief="garbage")
    asks_for_tools = any(isinstance(block, dict) and "toolUse" in block for block in content)
    stop_reason = entry.get("stop_reason", "tool_use" if asks_for_tools else "end_turn")
    return Reply(content, stop_reason, entry.get("usage"), latency, pause)


def _check(entry: Any, position: int) -> None:
    kinds = ", ".join(_ALLOWED)
    if not isinstance(entry, dict):
        raise ScriptError(f"Entry {position} must be an object with one of {kinds}, not {json.dumps(entry)[:80]}.")
    kind = next((kind for kind in _ALLOWED if kind in entry), None)
    if kind is None:
        raise ScriptError(f"Entry {position} has the keys {sorted(entry)}, but needs one of {kinds}.")
    if wrong := sorted(entry.keys() - _ALLOWED[kind]):
        allowed = ", ".join(sorted(_ALLOWED[kind]))
        raise ScriptError(f"Entry {position} has {', '.join(wrong)}, but one with {kind} may have only {allowed}.")
    for name, value in entry.items():
        is_valid, expected = _TYPES[name]
        if not is_valid(value):
            raise ScriptError(f"Entry {position} has a wrong {name}: it must be {expected}.")


def _content(entry: dict[str, Any], position: int) -> list[Any]:
    if "content" in entry:
        return list(entry["content"])
    content: list[dict[str, Any]] = []
    if "reasoning" in entry:
        content.append(reasoning_block(entry["reasoning"]))
    if "text" in entry:
        content.append({"text": entry["text"]})
    uses = entry.get("tool_use", [])
    for number, use in enumerate(uses if isinstance(uses, list) else [uses], start=1):
        tool_use_id = use.get("id", f"tooluse_{position}_{number}")
        content.append({"toolUse": {"toolUseId": tool_use_id, "name": use["name"], "input": use["input"]}})
    return content


def _are_tool_uses(value: Any) -> bool:
    uses = value if isinstance(value, list) else [value]
    return all(isinstance(use, dict) and {"name", "input"} <= use.keys() <= {"name", "input", "id"} for use in uses)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
