"""Converse in OpenAI's chat completions: what is asked becomes theirs, and what comes back becomes Converse again.

Answers are read as servers send them, not as the specification has them: what can't be read is passed on for the core to
refuse, so that the model is told. Reasoning is dropped both ways: servers refuse what others want back.
Shapes: https://platform.openai.com/docs/api-reference/chat
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from agent.adapters.openai.errors import RefusedError
from agent.messages import Block, Message, Usage, clean_text, tool_uses
from agent.ports import ModelReply, ModelRequest

_STOP_REASONS = {
    "stop": "end_turn",
    "eos": "end_turn",
    "end_turn": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "tool_use": "tool_use",
    "length": "max_tokens",
    "model_length": "max_tokens",  # Mistral
    "max_tokens": "max_tokens",
    "content_filter": "content_filtered",
}
# The answer broke off on the server's side: OpenRouter, vLLM, DeepSeek.
_BROKEN_OFF = ("error", "abort", "insufficient_system_resource")
# Models write their reasoning at the head of the text where the server doesn't take it out; Bedrock's gpt-oss too.
_REASONING = re.compile(r"\A\s*<(think|reasoning)>.*?</\1>\s*", re.DOTALL)


def parameters_of(request: ModelRequest) -> dict[str, Any]:
    """What of a request body is asked anew each time: messages and, where there are any, tools and stop sequences."""
    messages: list[dict[str, Any]] = []
    if request.system.strip():
        messages.append({"role": "system", "content": request.system})
    for message in request.messages:
        messages += [_assistant(message)] if message["role"] == "assistant" else _user(message)
    parameters: dict[str, Any] = {"messages": messages}
    if request.tools:
        parameters["tools"] = [_function(tool["toolSpec"]) for tool in request.tools]
    if request.stop_sequences:
        parameters["stop"] = list(request.stop_sequences)
    return parameters


def reply_of(answer: dict[str, Any], model_id: str) -> ModelReply:
    """The reply in an answer. Raises RefusedError where it holds none."""
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise RefusedError(502, "the answer holds no message")
    reason = choice.get("finish_reason")
    if reason in _BROKEN_OFF:
        raise RefusedError(502, f"the answer broke off: {reason}")
    text = _REASONING.sub("", text_of(message.get("content"))) or text_of(message.get("refusal"))
    uses = _tool_uses(message)
    return ModelReply(
        content=[*([{"text": text}] if text.strip() else []), *uses],
        stop_reason=_stop_reason(reason, bool(uses)),
        usage=_usage(answer.get("usage")),
        model_id=model_id,
    )


def text_of(content: object) -> str:
    """The text of a message's content: a string, or a list of parts, of which those that hold reasoning are left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") or part.get("refusal") if isinstance(part, dict) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def _assistant(message: Message) -> dict[str, Any]:
    text = "\n".join(block["text"] for block in message["content"] if "text" in block)
    calls = [
        {
            "id": use["toolUseId"],
            "type": "function",
            "function": {"name": use["name"], "arguments": msgspec.json.encode(use["input"]).decode()},
        }
        for use in tool_uses(message)
    ]
    if not calls:
        return {"role": "assistant", "content": text}
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def _user(message: Message) -> list[dict[str, Any]]:
    """Tool results, one message each, which must follow their calls; then what the user said."""
    said: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": result["toolUseId"], "content": _result_text(result)}
        for result in (block["toolResult"] for block in message["content"] if "toolResult" in block)
    ]
    texts = [block["text"] for block in message["content"] if "text" in block]
    return [*said, {"role": "user", "content": "\n".join(texts)}] if texts else said


def _result_text(result: Block) -> str:
    """A tool message has no status, so that a failure is told in its text."""
    parts = [
        block["text"] if "text" in block else msgspec.json.encode(block["json"]).decode()
        for block in result["content"]
        if "text" in block or "json" in block
    ]
    return ("Error: " if result.get("status") == "error" else "") + "\n".join(parts)


def _function(spec: dict[str, Any]) -> dict[str, Any]:
    function = {"name": spec["name"], "parameters": spec["inputSchema"]["json"]}
    if "description" in spec:
        function["description"] = spec["description"]
    return {"type": "function", "function": function}


def _tool_uses(message: dict[str, Any]) -> list[Block]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        legacy = message.get("function_call")
        calls = [{"function": legacy}] if isinstance(legacy, dict) else []
    return [{"toolUse": _tool_use(call if isinstance(call, dict) else {})} for call in calls]


def _tool_use(call: dict[str, Any]) -> Block:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = _arguments(function.get("arguments"))
    return {"toolUseId": call.get("id"), "name": function.get("name"), "input": arguments}


def _arguments(value: object) -> object:
    """The arguments as an object, or as they came where they are none. Without parameters, some models send none at all."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return {}
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _stop_reason(reason: object, uses_tools: bool) -> str:
    """Converse's stop reason; one that is unknown stays as it is, so that the loop runs no tools behind it."""
    told = clean_text(reason)[:64] if isinstance(reason, str) else ""
    known = _STOP_REASONS.get(told.lower(), told) or "end_turn"
    if known in ("end_turn", "tool_use"):  # servers say stop with tool calls, and the reverse
        return "tool_use" if uses_tools else "end_turn"
    return known


def _usage(usage: object) -> Usage:
    """Converse counts what the cache held apart; OpenAI counts it in."""
    cached = min(_count(usage, ("prompt_tokens_details", "cached_tokens")), _count(usage, ("prompt_tokens",)))
    return Usage(
        input_tokens=_count(usage, ("prompt_tokens",)) - cached,
        output_tokens=_count(usage, ("completion_tokens",)),
        cache_read_input_tokens=cached,
    )


def _count(value: object, path: Sequence[str]) -> int:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if type(value) is int and value > 0 else 0
