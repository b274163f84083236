"""A streamed chat completion, gathered into the one that wasn't: some servers stream whatever they are asked.

Fragments of a tool call belong together by its index; where servers leave that out or give all calls the same one
(Ollama), an id with a name begins the next call.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from agent.adapters.openai.errors import RefusedError, refusal
from agent.adapters.openai.messages import READ, text_of
from agent.ports import TextListener

# Of parts of reasoning, what is written on from fragment to fragment; all else in them is told once.
_WRITTEN = ("thinking", "text", "summary")
_LONGEST_LINE = 8_000_000  # bytes


@dataclass
class _Call:
    index: object
    id: object = None
    name: str | None = None
    arguments: Any = ""
    others: dict[str, Any] = field(default_factory=dict)

    def add(self, fragment: dict[str, Any], function: dict[str, Any]) -> None:
        self.id = self.id or fragment.get("id")
        self.others = _merged(self.others, {n: v for n, v in fragment.items() if n not in ("index", "id", "function")})
        name, arguments = function.get("name"), function.get("arguments")
        if isinstance(name, str) and name != self.name:  # some repeat it with every fragment
            self.name = (self.name or "") + name
        if isinstance(arguments, str) and isinstance(self.arguments, str):
            self.arguments += arguments
        elif arguments is not None:
            self.arguments = arguments


@dataclass
class _Gathered:
    texts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)
    others: dict[str, Any] = field(default_factory=dict)
    finish_reason: object = None
    usage: object = None
    begun: bool = False

    def add(self, chunk: dict[str, Any]) -> None:
        self.usage = chunk.get("usage") or self.usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if not isinstance(choice, dict) or choice.get("index"):
                continue
            delta = choice.get("delta") or choice.get("message")
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
            if isinstance(delta, dict):
                self.begun = True
                self._add_delta(delta)

    def _add_delta(self, delta: dict[str, Any]) -> None:
        self.texts.append(text_of(delta.get("content")))
        self.refusals.append(text_of(delta.get("refusal")))
        self.others = _merged(self.others, {name: value for name, value in delta.items() if name not in READ})
        fragments = delta.get("tool_calls") or []
        legacy = delta.get("function_call")
        if legacy and not fragments:
            fragments = [{"index": 0, "function": legacy}]
        for fragment in fragments if isinstance(fragments, list) else []:
            if isinstance(fragment, dict):
                function = fragment.get("function")
                function = function if isinstance(function, dict) else {}
                self._call_of(fragment, bool(function.get("name"))).add(fragment, function)

    def _call_of(self, fragment: dict[str, Any], names: bool) -> _Call:
        index, wanted = fragment.get("index"), fragment.get("id")
        peers = [call for call in self.calls if index is None or call.index == index]
        same = next((call for call in peers if wanted and call.id == wanted), None)
        if same:
            return same
        begins = names and (index is None or (wanted and peers and peers[-1].id))
        if peers and not begins:
            return peers[-1]
        self.calls.append(_Call(index))
        return self.calls[-1]

    def answer(self) -> dict[str, Any]:
        message = {
            **self.others,
            "content": "".join(self.texts),
            "refusal": "".join(self.refusals),
            "tool_calls": [
                {**call.others, "id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
                for call in self.calls
            ],
        }
        choice = {"message": message, "finish_reason": self.finish_reason}
        return {"choices": [choice] if self.begun else [], "usage": self.usage}


def _merged(old: Any, new: Any) -> Any:
    """Two fragments of one value as one: texts are joined, objects by their members, and parts of reasoning go on."""
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    if isinstance(old, dict) and isinstance(new, dict):
        return old | {
            n: value if n in ("type", "id", "format") else _merged(old.get(n), value) for n, value in new.items()
        }
    if isinstance(old, list) and isinstance(new, list):
        parts = list(old)
        for part in new:
            if parts and _goes_on(parts[-1], part):
                part = _merged(parts.pop(), part)
            parts.append(part)
        return parts
    return old if new is None else new


def _goes_on(last: Any, part: Any) -> bool:
    if not (isinstance(last, dict) and isinstance(part, dict)) or last.get("signature"):
        return False
    same = all(last.get(name) == part.get(name) for name in ("type", "index"))
    return same and any(name in last and name in part for name in _WRITTEN)


def gather(pieces: Iterable[bytes], secret: str = "", listener: TextListener | None = None) -> dict[str, Any]:
    """The answer in an event stream, whose text the listener hears. Raises RefusedError for an error, or where it broke off."""
    gathered, done = _Gathered(), False
    for line in _lines(pieces):
        field_name, _, data = line.partition(b":")
        if field_name.strip() != b"data" or not data.strip():
            continue  # a comment that keeps the connection, an event's name, or the line between two
        if data.strip() == b"[DONE]":
            done = True
            break
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            raise RefusedError(502, "the stream holds something that is no JSON") from None
        if not isinstance(chunk, dict) or chunk.get("error"):
            raise refusal(200, {}, chunk, secret)
        said = len(gathered.texts)
        gathered.add(chunk)
        if listener:
            listener.text("".join(gathered.texts[said:]))
    if not done and gathered.finish_reason is None:
        raise RefusedError(502, "the stream broke off")
    return gathered.answer()


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream, whose first may begin with a byte order mark (so the HTML standard, "Server-sent events")."""
    rest, is_first = b"", True
    for piece in chain(pieces, (b"\n",)):
        *lines, rest = (rest + piece).replace(b"\r", b"\n").split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise RefusedError(502, "the stream holds a line that is too long")
        for line in lines:
            yield line.removeprefix(b"\xef\xbb\xbf") if is_first else line
            is_first = False
