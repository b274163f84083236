"""Converse messages: types, questions asked of them, and what makes their values fit to send. None is changed in place."""

import re
from typing import Any, NotRequired, TypedDict

import msgspec
from msgspec.structs import asdict, fields

Block = dict[str, Any]


class Message(TypedDict):
    """A Converse message: `role` is user or assistant, `content` holds blocks of one key each.

    Within a turn, one that asks for tools and comes with reasons names its `model`, and what the server sent `beside` text and
    calls: unknown members of the `message`, and the `calls` as they came, by our ids.
    """

    role: str
    content: list[Block]
    model: NotRequired[str]
    beside: NotRequired[dict[str, Any]]


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one model call or of several; they add up."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_write_input_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def total(self) -> int:
        """Input and output tokens, without what the cache held."""
        return self.input_tokens + self.output_tokens

    def as_dict(self) -> dict[str, int]:
        """The `usage` of an answer."""
        return asdict(self)


NO_ANSWER = "(There is no answer to this: the turn was interrupted.)"
TOOL_USE_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MOST_BITS = 1_024  # of an integer; what is larger is none for a reader that makes floats of numbers (RFC 8259, 6)
_MAX_DEPTH = 40  # of a tool input; what reads and writes JSON recurses, and Python gives up at about 1,000 frames
# a pair of thinking tags (Nova writes them into its text), unless it stands in code that the user asked for
_CODE_OR_THINKING = re.compile(
    r"(```.*?(?:```|\Z)|`[^`\n]*`)|<thinking>(?:(?!</?thinking>).)*</thinking>\s*", re.DOTALL
)


def user_text(text: str) -> Message:
    """A user message that says this."""
    return {"role": "user", "content": [{"text": text}]}


def assistant_text(text: str) -> Message:
    """An assistant message that says this."""
    return {"role": "assistant", "content": [{"text": text}]}


def tool_result(tool_use_id: str, text: str, status: str = "error") -> Block:
    """A toolResult block with one text."""
    return {"toolResult": {"toolUseId": tool_use_id, "content": [{"text": text}], "status": status}}


def tool_uses(message: Message) -> list[Block]:
    """The toolUse parts of a message."""
    return [block["toolUse"] for block in message["content"] if "toolUse" in block]


def has_tool_results(message: Message) -> bool:
    """Whether the message answers tool uses."""
    return any("toolResult" in block for block in message["content"])


def visible_text(message: Message) -> str:
    """What a person is shown of a message: its texts, without thinking tags."""
    text = "\n".join(block["text"] for block in message["content"] if "text" in block)
    return _CODE_OR_THINKING.sub(lambda found: found[1] or "", text).strip() if "</thinking>" in text else text.strip()


def with_sentence(message: Message, sentence: str) -> Message:
    """The message with a sentence added to its last tool result, or behind its text where it has none."""
    *rest, last = message["content"]
    if "toolResult" in last:
        result = last["toolResult"]
        last = {"toolResult": {**result, "content": [*result["content"], {"text": sentence}]}}
        return {"role": message["role"], "content": [*rest, last]}
    return {"role": message["role"], "content": [*rest, last, {"text": sentence}]}


def has_reasoning(message: Message) -> bool:
    """Whether the model's reasoning stands in the message."""
    return any("reasoningContent" in block for block in message["content"])


def clean_text(text: str) -> str:
    """The text as UTF-8 can carry it: half of a surrogate pair becomes a replacement character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_json(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """A JSON value that every model takes back: clean texts, no NaN, no integer of 309 digits.

    Raises ValueError where it is nested too deeply or is no JSON.
    """
    if depth == 0:
        raise ValueError("nested too deeply")
    match value:
        case str():
            return clean_text(value)
        case bool() | None:
            return value
        case int():
            return value if value.bit_length() <= _MOST_BITS else hex(value)
        case float():
            return value if value - value == 0 else None  # neither NaN nor infinite
        case list():
            return [clean_json(item, depth - 1) for item in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {clean_text(key): clean_json(item, depth - 1) for key, item in value.items()}
    raise ValueError("not JSON")


def unique_id(wanted: object, seen: set[str]) -> str:
    """A valid tool use id that isn't in `seen`, the wanted one if it can be; it is added to `seen`."""
    base = wanted if isinstance(wanted, str) and TOOL_USE_ID.fullmatch(wanted) else "tooluse"
    name, number = base, len(seen) + 1  # counting from 2 would take ever longer where a model repeats one id
    while name in seen:
        name = f"{base[:54]}_{number}"
        number += 1
    seen.add(name)
    return name
