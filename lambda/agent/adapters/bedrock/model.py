"""A model behind Amazon Bedrock Converse. One layer of retries, bounded by the turn's time.

What ran out of time is never sent again: the service may still be generating, and would bill both.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from agent.adapters.bedrock.caching import with_cache_points
from agent.adapters.bedrock.stream import gather
from agent.adapters.families import family_of, suited
from agent.aws.errors import CallError, ServiceError, TimedOutError, UnreadableError
from agent.aws.event_stream import events
from agent.deadline import Deadline
from agent.errors import (
    AgentError,
    MisconfiguredError,
    ModelError,
    ModelUnavailableError,
    OutOfTimeError,
)
from agent.messages import Message, Usage, clean_text, tool_uses
from agent.ports import ModelReply, ModelRequest, TextListener
from agent.request_fields import has_high_effort

ATTEMPTS = 3
_FIRST_PAUSE = 0.5  # seconds; doubled, with jitter
_USAGE = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
# What reading an answer that is not Converse's raises.
_UNREADABLE = (AttributeError, TypeError, KeyError, ValueError)
_CHECK = "(check model access, MODEL_ID and the function's permissions)"


class Inference(msgspec.Struct, frozen=True):
    """What is asked of every answer; None is not sent. `guardrail` is an id and a version."""

    max_tokens: int
    temperature: float | None = None
    top_p: float | None = None
    guardrail: tuple[str, str] | None = None
    request_fields: Mapping[str, Any] = msgspec.field(default_factory=dict)  # the model's own, beside Converse's
    prompt_caching: bool = False
    family: str = ""  # of models whose ids don't say it; "" for not known

    def for_model(self, model_id: str, main: str) -> "Inference":
        """Without the request fields, unless the model is of the provider that they were written for, that of `main`."""
        provider, wanted = (shown(each).split(".")[-2:-1] for each in (model_id, main))
        return self if provider == wanted else replace(self, request_fields={})


class BedrockModel:
    """Converse with one model or inference profile."""

    def __init__(self, client: Any, model_id: str, inference: Inference) -> None:
        self.model_id = model_id
        self._client = client
        # an ARN's slashes are part of the one segment
        self._path = f"/model/{quote(model_id, safe='-._~')}/converse"
        self._prompt_caching = inference.prompt_caching
        config = {"maxTokens": inference.max_tokens, "temperature": inference.temperature, "topP": inference.top_p}
        config = {} if has_high_effort(model_id, inference.request_fields) else config
        self._inference = {name: value for name, value in config.items() if value is not None}
        self._fixed: dict[str, Any] = {}
        if inference.guardrail:
            identifier, version = inference.guardrail
            self._fixed["guardrailConfig"] = {"guardrailIdentifier": identifier, "guardrailVersion": version}
        if inference.request_fields:
            self._fixed["additionalModelRequestFields"] = dict(inference.request_fields)
        # Llama and Mistral refuse text beside tool uses; ids that hide their model are treated alike
        self._family = family_of(model_id, inference.family)
        self._uses_stand_alone = self._family in ("meta", "mistral", "")

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        """One answer; see the Model port for what it raises."""
        return suited(self._family, request, lambda suited_request: self._converse(suited_request, deadline, listener))

    def _converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None) -> ModelReply:
        parameters = {**self._fixed, "messages": self._messages(request.messages)}
        sent = ("maxTokens", "temperature", "topP") if request.sampling else ("maxTokens",)
        inference: dict[str, Any] = {name: value for name, value in self._inference.items() if name in sent}
        if request.stop_sequences:
            inference["stopSequences"] = list(request.stop_sequences)
        if inference:
            parameters["inferenceConfig"] = inference
        if request.about:
            parameters["requestMetadata"] = dict(request.about)
        if request.system.strip():
            parameters["system"] = [{"text": request.system}]
        tools = list(request.tools) or _tools_of(request.messages)
        if tools:
            parameters["toolConfig"] = {"tools": tools}
        if self._prompt_caching:
            parameters = with_cache_points(parameters, self.model_id)
        if listener and "guardrailConfig" in parameters:
            # asynchronously, a guardrail would let pass what it blocks later (Bedrock's guide, "Guardrails and streaming")
            parameters["guardrailConfig"] = parameters["guardrailConfig"] | {"streamProcessingMode": "sync"}
        body = msgspec.json.encode(parameters)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._reply(self._call(body, deadline, listener))
            except CallError as error:
                if listener:
                    listener.void()
                ours, again = _translated(error)
                if not again or attempt == ATTEMPTS or not deadline.pause(attempt, _FIRST_PAUSE):
                    raise ours from error
            except _UNREADABLE as error:  # not sent again: it was answered, and is paid for
                raise ModelError(detail=f"the answer can't be read: {type(error).__name__}") from error
        raise ModelUnavailableError

    def _call(self, body: bytes, deadline: Deadline, listener: TextListener | None) -> dict[str, Any]:
        if deadline.left() <= 0:
            raise OutOfTimeError
        if listener:
            return gather(events(self._client.post(f"{self._path}-stream", body, deadline).pieces()), listener)
        answered = self._client.post(self._path, body, deadline).body()
        try:
            answer = json.loads(answered)
        except (ValueError, RecursionError) as error:
            raise UnreadableError("the answer is no JSON") from error
        if not isinstance(answer, dict) or "output" not in answer:
            raise UnreadableError("the answer holds no output")
        return answer

    def _messages(self, messages: Sequence[Message]) -> list[Message]:
        """Without what only we know of them, and without texts beside tool uses where the model refuses these."""
        alone = self._uses_stand_alone
        return [
            {"role": m["role"], "content": [b for b in m["content"] if not (alone and "text" in b and tool_uses(m))]}
            if alone or len(m) > 2
            else m
            for m in messages
        ]

    def _reply(self, response: dict[str, Any]) -> ModelReply:
        usage = response.get("usage") or {}
        message = (response.get("output") or {}).get("message") or {}
        return ModelReply(
            content=[_block(block) for block in message.get("content") or [] if isinstance(block, dict)],
            stop_reason=clean_text(str(response.get("stopReason") or ""))[:64] or "unknown",
            usage=Usage(*(_count(usage.get(name)) for name in _USAGE)),
            model_id=shown(self.model_id),
        )


def shown(model_id: str) -> str:
    """The id as answers and logs name it: of an ARN only what follows the account."""
    return model_id.rpartition("/")[2]


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """The block with its bytes as bytes, which only redacted reasoning holds."""
    match block:
        case {"reasoningContent": {"redactedContent": str(text)}}:
            return {"reasoningContent": {"redactedContent": base64.b64decode(text)}}
    return block


def _count(value: object) -> int:
    return value if type(value) is int else 0


def _tools_of(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Specs for the tools in a history that are offered no longer: Converse wants a toolConfig with any tool block."""
    names = dict.fromkeys(use["name"] for message in messages for use in tool_uses(message))
    schema = {"json": {"type": "object", "properties": {}}}
    description = "No longer available: do not use."
    return [{"toolSpec": {"name": name, "description": description, "inputSchema": schema}} for name in names]


def _translated(error: CallError) -> tuple[AgentError, bool]:
    """Our error for a call's, and whether the same request may be sent again."""
    detail = str(error)
    if isinstance(error, TimedOutError):
        return OutOfTimeError(detail=detail), False
    if not isinstance(error, ServiceError):
        return ModelUnavailableError(detail=detail), True
    from agent.adapters.refusals import read_refusal  # whose patterns take a millisecond of a cold start

    ours = read_refusal(error.status, error.code, error.message, detail, _CHECK)
    if error.is_misconfigured and not isinstance(ours[0], MisconfiguredError):
        return MisconfiguredError(detail=f"{detail} {_CHECK}"), False
    return ours
