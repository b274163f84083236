"""Rules of cache points (K-...), inference settings (I-...), and free-form or stored parts of a request (A-...)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from local.bedrock.case import Case, is_blank
from local.bedrock.reply import CHARACTERS_PER_TOKEN

_JSON_POINTER = re.compile(r"(/([^~/]|~[01])*)+")  # RFC 6901, without the empty one
_MOST_CACHE_POINTS = 4


def cache_points_are_few(case: Case) -> Iterator[str]:
    """K-MAX."""
    if (count := len(_cache_points(case))) > _MOST_CACHE_POINTS:
        yield f"there are {count} cache points, more than {_MOST_CACHE_POINTS}"


def long_cache_comes_first(case: Case) -> Iterator[str]:
    """K-TTL-ORDER."""
    times = [point.get("ttl", "5m") for point in _cache_points(case)]
    if "5m" in times and "1h" in times[times.index("5m") :]:
        yield "a cache point of 1 hour must not come after one of 5 minutes"


def max_tokens_fits(case: Case) -> Iterator[str]:
    """I-MAX-TOKENS."""
    limit, asked = case.model.max_output_tokens, case.inference.get("maxTokens", 0)
    if limit is not None and asked > limit:
        yield f"maxTokens is {asked}, which exceeds the model limit of {limit}"


def max_tokens_is_below(case: Case) -> Iterator[str]:
    """I-MAX-TOKENS-EDGE."""
    if case.inference.get("maxTokens") == case.model.max_output_tokens is not None:
        yield "maxTokens is exactly the model's limit, which some models refuse"


def one_of_temperature_and_top_p(case: Case) -> Iterator[str]:
    """I-TEMP-TOPP."""
    if case.model.at_least(4, 1) and case.inference.keys() >= {"temperature", "topP"}:
        yield "temperature and topP must not both be set for this model"


def sampling_is_default(case: Case) -> Iterator[str]:
    """I-SAMPLING-GONE."""
    if case.model.at_least(4, 7):
        for name in ("temperature", "topP"):
            if case.inference.get(name, 1) != 1:
                yield f"{name} is not supported by this model"


def stop_sequence_is_not_blank(case: Case) -> Iterator[str]:
    """I-STOP-BLANK."""
    if any(is_blank(sequence) for sequence in case.inference.get("stopSequences", [])):
        yield "a stop sequence must not be white space only"


def text_fits_context(case: Case) -> Iterator[str]:
    """I-CONTEXT."""
    texts = [text for _, text in case.blocks("text")]
    texts += [block.get("text", "") for _, result in case.blocks("toolResult") for block in result["content"]]
    tokens = sum(map(len, texts)) // CHARACTERS_PER_TOKEN
    if case.model.context_window is not None and tokens > case.model.context_window:
        yield f"the text is of about {tokens} tokens and the context window of {case.model.context_window}"


def paths_are_pointers(case: Case) -> Iterator[str]:
    """A-POINTER."""
    for path in case.request.get("additionalModelResponseFieldPaths", []):
        if not _JSON_POINTER.fullmatch(path):
            yield f"additionalModelResponseFieldPaths has {path!r}, which is no JSON pointer"


def stored_prompt_stands_alone(case: Case) -> Iterator[str]:
    """A-PROMPT."""
    forbidden = {"system", "toolConfig", "inferenceConfig", "additionalModelRequestFields"}
    if case.model.is_prompt and (present := sorted(forbidden & case.request.keys())):
        yield f"a stored prompt takes no {present}"


def integers_fit(case: Case) -> Iterator[str]:
    """A-BIG-INTEGER."""
    waiting: list[Any] = [use["input"] for _, use in case.blocks("toolUse")]
    waiting += [block.get("json") for _, result in case.blocks("toolResult") for block in result["content"]]
    waiting += [case.tools, case.model_fields]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            yield f"the integer {value} does not fit into 64 bits"


def _cache_points(case: Case) -> list[dict[str, Any]]:
    in_messages = [block for message in case.messages for block in message["content"]]
    return [block["cachePoint"] for block in [*case.tools, *case.system, *in_messages] if "cachePoint" in block]
