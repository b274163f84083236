"""A well-formed Converse request as the rules look at it, and the questions that they ask of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from local.bedrock.issued import Issued
from local.bedrock.model_facts import ModelFacts

_T = TypeVar("_T")

Block = dict[str, Any]
MEDIA = ("image", "document", "video", "audio")


@dataclass(frozen=True)
class Case:
    """One request, for one model; `issued` is what the stand-in has answered before."""

    model: ModelFacts
    request: dict[str, Any]
    issued: Issued = field(default_factory=Issued)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, oldest first."""
        return _member(self.request, "messages", [])

    @property
    def system(self) -> list[Block]:
        """The blocks of the system prompt."""
        return _member(self.request, "system", [])

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The offered tools, cache points among them."""
        return _member(self._tool_config, "tools", [])

    @property
    def tool_choice(self) -> dict[str, Any]:
        """`toolChoice`, empty where none is made."""
        return _member(self._tool_config, "toolChoice", {})

    @property
    def inference(self) -> dict[str, Any]:
        """`inferenceConfig`, empty where there is none."""
        return _member(self.request, "inferenceConfig", {})

    @property
    def model_fields(self) -> dict[str, Any]:
        """`additionalModelRequestFields`, empty where they are missing or no object."""
        fields = self.request.get("additionalModelRequestFields")
        return fields if isinstance(fields, dict) else {}

    @property
    def thinking(self) -> dict[str, Any]:
        """The setting that turns Claude's reasoning on, empty where it is off."""
        for name in ("thinking", "reasoning_config"):
            setting = self.model_fields.get(name)
            if isinstance(setting, dict) and setting.get("type") in ("enabled", "adaptive"):
                return setting
        return {}

    @property
    def _tool_config(self) -> dict[str, Any]:
        return _member(self.request, "toolConfig", {})

    def blocks(self, kind: str) -> Iterator[tuple[str, Any]]:
        """All content blocks of a kind in all messages, each with its path."""
        for index, message in enumerate(self.messages):
            for position, block in enumerate(message["content"]):
                if kind in block:
                    yield f"messages[{index}].content[{position}].{kind}", block[kind]

    def tool_names(self) -> list[str]:
        """The names of all offered tools, in order."""
        return [tool[kind]["name"] for tool in self.tools for kind in ("toolSpec", "systemTool") if kind in tool]


Rule = Callable[[Case], Iterator[str]]
"""A rule: yields, for a person, each way in which a request breaks it."""


def of_kind(message: dict[str, Any], kind: str) -> list[Any]:
    """The contents of a message's blocks of one kind."""
    return [block[kind] for block in message["content"] if kind in block]


def without_cache_points(blocks: list[Block]) -> list[Block]:
    """The blocks but for the cache points."""
    return [block for block in blocks if "cachePoint" not in block]


def is_blank(text: str) -> bool:
    """Whether a text is empty or white space only."""
    return not text.strip()


def repeated(values: list[str]) -> list[str]:
    """The values that come more than once, in order, each told once."""
    return [value for value, count in Counter(values).items() if count > 1]


def _member(container: dict[str, Any], name: str, default: _T) -> _T:
    """A member of a shape that has been checked against the service model already."""
    value: _T = container.get(name, default)
    return value
