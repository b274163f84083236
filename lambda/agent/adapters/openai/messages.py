"""Converse in OpenAI's chat completions: what is asked becomes theirs, and what comes back becomes Converse again.

Answers are read as servers send them, not as the specification has them: what can't be read is passed on for the core to
refuse, so that the model is told. What a server sends beside text and calls (reasoning, signatures, ids of its own) goes back
to it within the turn as it came: some refuse calls without it.
Shapes: https://platform.openai.com/docs/api-reference/chat
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from agent.adapters.openai.errors import RefusedError
from agent.messages import TOOL_USE_ID, Block, Message, Usage, clean_text, tool_uses
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
# Of a message and a call, what is read; all else stands beside it.
READ = ("role", "content", "refusal", "tool_calls", "function_call")
_READ_OF_CALL = ("name", "arguments", "index")
# Models write their reasoning at the head of the text where the server doesn't take it out; Bedrock's gpt-oss too.
_REASONING = re.compile(r"\A\s*<(think|reasoning)>.*?</\1>\s*", re.DOTALL)
_LONGEST_DESCRIPTION = 1024  # characters of a tool's


def parameters_of(request: ModelRequest) -> dict[str, Any]:
    """What of a request body is asked anew each time: messages and, where there are any, tools and stop sequences."""
    messages: list[dict[str, Any]] = []
    ids = _ids(request.messages)
    if request.system.strip():
        messages.append({"role": "system", "content": request.system})
    for message in request.messages:
        messages += [_assistant(message, ids)] if message["role"] == "assistant" else _user(message, ids)
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
    calls = _calls(message)
    uses: list[Block] = [{"toolUse": _tool_use(call)} for call in calls]
    return ModelReply(
        content=[*_beside(message, calls), *([{"text": text}] if text.strip() else []), *uses],
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


def _ids(messages: Sequence[Message]) -> dict[str, str]:
    """The id that each of our ids stands for: the server's own where it sent one, unless that is another call's."""
    ids = {use["toolUseId"]: use["toolUseId"] for message in messages for use in tool_uses(message)}
    taken = set(ids)
    for message in messages:
        for ours, call in message.get("beside", {}).get("calls", {}).items():
            theirs = call.get("id")
            if isinstance(theirs, str) and theirs and theirs not in taken:
                taken.add(theirs)
                ids[ours] = theirs
    return ids


def _assistant(message: Message, ids: dict[str, str]) -> dict[str, Any]:
    text = "\n".join(block["text"] for block in message["content"] if "text" in block)
    beside = message.get("beside", {})
    calls = []
    for use in tool_uses(message):
        call = beside.get("calls", {}).get(use["toolUseId"], {})
        function = {"name": use["name"], "arguments": msgspec.json.encode(use["input"]).decode()}
        function = {**call.get("function", {}), **function}
        calls.append({"type": "function", **call, "id": ids[use["toolUseId"]], "function": function})
    if not calls:
        return {"role": "assistant", "content": text}
    return {"role": "assistant", "content": text or None, **beside.get("message", {}), "tool_calls": calls}


def _user(message: Message, ids: dict[str, str]) -> list[dict[str, Any]]:
    """Tool results, one message each, which must follow their calls; then what the user said."""
    said: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": ids.get(result["toolUseId"]), "content": _result_text(result)}
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
    """A description beyond what OpenAI takes goes on in the schema, whose texts have no limit (getsentry/sentry-mcp#106)."""
    text, schema = spec.get("description", ""), spec["inputSchema"]["json"]
    if rest := text[_LONGEST_DESCRIPTION:]:
        schema = {**schema, "description": "\n\n".join(filter(None, (rest, schema.get("description"))))}
    described = {"description": text[:_LONGEST_DESCRIPTION]} if text else {}
    return {"type": "function", "function": {"name": spec["name"], **described, "parameters": schema}}


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        legacy = message.get("function_call")
        calls = [{"function": legacy}] if isinstance(legacy, dict) else []
    return [call if isinstance(call, dict) else {} for call in calls]


def _tool_use(call: dict[str, Any]) -> Block:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    arguments = _arguments(function.get("arguments"))
    return {"toolUseId": call.get("id"), "name": function.get("name"), "input": arguments}


def _beside(message: dict[str, Any], calls: Sequence[dict[str, Any]]) -> list[Block]:
    """What the server sent beside text and calls, as a block, if it did: of each call all but its name and arguments."""
    extras = {name: value for name, value in message.items() if name not in READ and value not in (None, "", [], {})}
    if isinstance(message.get("content"), list):  # of parts, some of which hold reasoning
        extras["content"] = message["content"]
    bare = [
        {name: _unread(value) if name == "function" else value for name, value in _unread(call).items()}
        for call in calls
    ]
    usual = all(call.keys() <= {"id", "type", "function"} and not call.get("function") for call in bare)
    fits = all(TOOL_USE_ID.fullmatch(str(call.get("id"))) for call in bare)
    return [] if not calls or (usual and fits and not extras) else [{"beside": {"message": extras, "calls": bare}}]


def _unread(value: Any) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name not in _READ_OF_CALL} if isinstance(value, dict) else {}


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
    if "malformed" in told.lower():  # Gemini
        return "malformed_tool_use"
    known = _STOP_REASONS.get(told.lower(), told) or "end_turn"
    if known in ("end_turn", "tool_use"):  # servers say stop with tool calls, and the reverse
        return "tool_use" if uses_tools else "end_turn"
    return known


def _usage(usage: object) -> Usage:
    """Converse counts what the cache held or got apart; OpenAI counts it in, and LiteLLM tells of both."""
    sent = _count(usage, ("prompt_tokens",))
    read = min(_count(usage, ("prompt_tokens_details", "cached_tokens")), sent)
    written = min(_count(usage, ("prompt_tokens_details", "cache_write_tokens")), sent - read)
    return Usage(sent - read - written, _count(usage, ("completion_tokens",)), read, written)


def _count(value: object, path: Sequence[str]) -> int:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if type(value) is int and value > 0 else 0
