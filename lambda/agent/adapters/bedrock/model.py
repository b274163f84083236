"""A model behind Amazon Bedrock Converse. One layer of retries, bounded by the turn's time.

A read time-out is never sent again: the service may still be generating, and would bill both.
The body is written by msgspec: botocore walks a long history value by value, which costs a sixth of a warm turn's CPU time.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from msgspec.structs import replace

from agent.adapters.aws import CONNECTION_ERRORS, SDK_ERRORS, TIMEOUTS, error_code, is_misconfigured, pause, status_code
from agent.adapters.bedrock.caching import with_cache_points
from agent.adapters.families import family_of, suited
from agent.adapters.refusals import read_refusal
from agent.deadline import Deadline, start
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
# What botocore's parser raises on an answer that is not of its service, and what reading such an answer raises here.
_UNREADABLE = (AttributeError, TypeError, KeyError, ValueError, RecursionError)
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
        self._prompt_caching = inference.prompt_caching
        self._body = threading.local()
        client.meta.events.register("before-call.bedrock-runtime.Converse", self._put_body)
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
        return suited(self._family, request, lambda suited_request: self._converse(suited_request, deadline))

    def _converse(self, request: ModelRequest, deadline: Deadline) -> ModelReply:
        parameters = {**self._fixed, "messages": self._messages(request.messages)}
        sent = ("maxTokens", "temperature", "topP") if request.sampling else ("maxTokens",)
        inference: dict[str, Any] = {name: value for name, value in self._inference.items() if name in sent}
        if request.stop_sequences:
            inference["stopSequences"] = list(request.stop_sequences)
        if inference:
            parameters["inferenceConfig"] = inference
        if request.system.strip():
            parameters["system"] = [{"text": request.system}]
        tools = list(request.tools) or _tools_of(request.messages)
        if tools:
            parameters["toolConfig"] = {"tools": tools}
        if self._prompt_caching:
            parameters = with_cache_points(parameters, self.model_id)
        body = msgspec.json.encode(parameters)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._reply(self._call(body, deadline))
            except SDK_ERRORS as error:
                ours, again = _translated(error)
                if not again or attempt == ATTEMPTS or not pause(attempt, _FIRST_PAUSE, deadline):
                    raise ours from error
            except _UNREADABLE as error:  # not sent again: it was answered, and is paid for
                raise ModelError(detail=f"the answer can't be read: {type(error).__name__}") from error
        raise ModelUnavailableError

    def _call(self, body: bytes, deadline: Deadline) -> dict[str, Any]:
        """One request, waited for until the deadline: a socket's time-out starts anew with each byte, so it can't bound this."""
        if deadline.left() <= 0:
            raise OutOfTimeError
        future = start(lambda: self._send(body))
        try:
            response: dict[str, Any] = future.result(timeout=deadline.left())
        except TimeoutError:
            raise OutOfTimeError from None
        if "output" not in response:  # botocore reads a body that was cut off as an empty one
            raise ResponseParserError("the answer holds no output")
        return response

    def _messages(self, messages: Sequence[Message]) -> list[Message]:
        """Without what only we know of them, and without texts beside tool uses where the model refuses these."""
        alone = self._uses_stand_alone
        return [
            {"role": m["role"], "content": [b for b in m["content"] if not (alone and "text" in b and tool_uses(m))]}
            for m in messages
        ]

    def _send(self, body: bytes) -> dict[str, Any]:
        self._body.value = body
        response: dict[str, Any] = self._client.converse(modelId=self.model_id, messages=[])
        return response

    def _put_body(self, params: dict[str, Any], **_: object) -> None:
        body = getattr(self._body, "value", None)
        if body is not None:  # else another model of the same client is called
            params["body"] = body

    def _reply(self, response: dict[str, Any]) -> ModelReply:
        usage = response.get("usage") or {}
        message = (response.get("output") or {}).get("message") or {}
        return ModelReply(
            content=[block for block in message.get("content") or [] if isinstance(block, dict)],
            stop_reason=clean_text(str(response.get("stopReason") or ""))[:64] or "unknown",
            usage=Usage(*(_count(usage.get(name)) for name in _USAGE)),
            model_id=shown(self.model_id),
        )


def shown(model_id: str) -> str:
    """The id as answers and logs name it: of an ARN only what follows the account."""
    return model_id.rpartition("/")[2]


def _count(value: object) -> int:
    return value if type(value) is int else 0


def _tools_of(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Specs for the tools in a history that are offered no longer: Converse wants a toolConfig with any tool block."""
    names = dict.fromkeys(use["name"] for message in messages for use in tool_uses(message))
    schema = {"json": {"type": "object", "properties": {}}}
    description = "No longer available: do not use."
    return [{"toolSpec": {"name": name, "description": description, "inputSchema": schema}} for name in names]


def _translated(error: Exception) -> tuple[AgentError, bool]:
    """Our error for botocore's, and whether the same request may be sent again."""
    detail = str(error)
    if isinstance(error, ClientError):
        ours = read_refusal(status_code(error), error_code(error), detail, detail, _CHECK)
        if isinstance(ours[0], MisconfiguredError) or not is_misconfigured(error):
            return ours
    if is_misconfigured(error):
        return MisconfiguredError(detail=f"{detail} {_CHECK}"), False
    # a read time-out is not sent again: the model may still be at it
    again = isinstance(error, (*CONNECTION_ERRORS, ResponseParserError)) and not isinstance(error, TIMEOUTS)
    return ModelUnavailableError(detail=detail), again
