"""What a listener hears of a turn while it runs: of each reply the text that a person will be shown, as soon as that is sure.

Thinking tags are held back, and so is white space that may be the end: what was told is always the beginning of
`visible_text`, or taken back at the end.
"""

import hashlib
import re
import threading
import time
from collections.abc import Callable
from typing import Any

from agent.messages import clean_text
from agent.ports import ToolCall, ToolRecord

# Nova's and, at the beginning of a text, those that adapters leave out
_TAGS = ("<thinking>", "<think>", "<reasoning>")
_TAG = re.compile("|".join(_TAGS))
_LONGEST_HELD = 1_000  # characters; a model that writes nothing but blanks must not be searched again and again


class Telling:
    """The Listener that tells of one turn by events: `send` gets their names and data, as README.md has them."""

    def __init__(
        self, send: Callable[[str, dict[str, Any]], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.first_text: float | None = None
        self._send, self._clock, self._began = send, clock, clock()
        self._lock = threading.Lock()
        self._step, self._ended, self._has_started = 0, True, False
        self._told, self._digest = 0, hashlib.sha256()
        self._forget()

    def start(self, session_id: str, request_id: str, turn: int) -> None:
        """The turn is reserved, or was answered before; told once."""
        if not self._has_started:
            self._has_started = True
            self._send("start", {"session_id": session_id, "request_id": request_id, "turn": turn})

    def begin(self, step: int) -> None:
        """The model is called for this step, once more perhaps, or tools are run that it asked for."""
        self.void()
        with self._lock:
            self._step, self._ended = step, False
            self._forget()

    def text(self, text: str) -> None:
        """The model wrote this. After `end`, when it comes from a thread that was left behind, it is dropped."""
        with self._lock:
            if not self._ended:
                self._held += text
                self._tell(self._sure())

    def void(self) -> None:
        """All that was written so far does not count."""
        with self._lock:
            if self._told and not self._ended:
                self._send("void", {"step": self._step})
            self._forget()

    def end(self, said: str) -> None:
        """The reply is whole, and this is what counts of it: the rest is told, or what was told is taken back."""
        with self._lock:
            self._ended = True
            if self._digest.digest() != hashlib.sha256(said[: self._told].encode()).digest():
                self._send("void", {"step": self._step})
                self._told = 0
            self._tell(said[self._told :])

    def tool_use(self, call: ToolCall) -> None:
        """A tool begins to run."""
        self._send("tool_use", {"step": self._step, "tool_use_id": call.tool_use_id, "name": call.name})

    def tool_result(self, record: ToolRecord) -> None:
        """A tool use was answered."""
        told = {"step": self._step, "tool_use_id": record.tool_use_id, "name": record.name, "status": record.status}
        self._send("tool_result", told | {"milliseconds": record.milliseconds})

    def _forget(self) -> None:
        self._held, self._hides, self._begins = "", "", True
        self._told, self._digest = 0, hashlib.sha256()

    def _tell(self, text: str) -> None:
        if text:
            self.first_text = self._clock() - self._began if self.first_text is None else self.first_text
            self._told += len(text)
            self._digest.update(text.encode())
            self._send("text", {"step": self._step, "text": text})

    def _sure(self) -> str:
        """What of the held text can be told now."""
        sure = ""
        while True:
            if self._hides:
                _, closes, after = self._held.partition(self._hides)
                if not closes:
                    self._held = self._held[1 - len(self._hides) :]
                    return sure
                self._held, self._hides, self._begins = after, "", True
            tag = _TAG.search(self._held)
            before, after = (self._held[: tag.start()], self._held[tag.end() :]) if tag else (self._held, "")
            if self._begins:
                before = before.lstrip()
                self._begins = not before
            end = len(before.rstrip()) if tag else _sure_until(before)
            end = end if len(before) - end < _LONGEST_HELD else len(before)
            sure = clean_text(sure + before[:end])
            if not tag:
                self._held = before[end:]
                return sure
            self._held, self._hides = after, tag[0].replace("<", "</")


def _sure_until(text: str) -> int:
    """Where the end of a text begins that more may change: white space, the beginning of a tag, half of a character."""
    begins = text.rfind("<", 1 - max(map(len, _TAGS)))
    end = text[:begins] if begins >= 0 and any(tag.startswith(text[begins:]) for tag in _TAGS) else text
    end = end[:-1] if "\ud800" <= end[-1:] <= "\udbff" else end
    return len(end.rstrip())
