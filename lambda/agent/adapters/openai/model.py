"""A model behind any OpenAI-compatible chat completions endpoint. One layer of retries, bounded by the turn's time.

Over the function's own transport, which follows no redirect, so that the key goes to no other host; to import the openai
package takes a second.
"""

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from agent.adapters.bedrock.model import ATTEMPTS, Inference
from agent.adapters.families import family_of, suited
from agent.adapters.openai.errors import RefusedError, refusal, translated
from agent.adapters.openai.messages import parameters_of, reply_of
from agent.adapters.openai.stream import gather
from agent.aws.endpoints import Endpoint, endpoint_at
from agent.aws.errors import CallError
from agent.aws.transport import Response, Transport
from agent.deadline import Deadline
from agent.errors import MisconfiguredError, ModelUnavailableError, OutOfTimeError
from agent.messages import Usage
from agent.ports import ModelReply, ModelRequest, TextListener

_FIRST_PAUSE = 0.5  # seconds; doubled, with jitter
_LONGEST_PAUSE = 20.0  # seconds; who asks for more is told the caller, who can wait at less cost
# The old name is the one that all servers know, but OpenAI's newer models refuse it.
_STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
_LIMIT_NAMES = ("max_tokens", "max_completion_tokens")


class OpenAIModel:
    """Chat completions with one model. A path and a query of the base URL are kept, as Azure's deployments need them.

    `key` reads the API key, "" for none: at the first call, and again when it is refused. Raises MisconfiguredError for a
    URL that is none, or a guardrail, which only Bedrock's Converse applies.
    """

    def __init__(
        self,
        transport: Transport,
        base_url: str,
        model_id: str,
        key: Callable[[Deadline], str],
        inference: Inference,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if inference.guardrail:
            raise MisconfiguredError(detail="GUARDRAIL_ID is set, but only Bedrock's Converse applies guardrails.")
        self.model_id = model_id
        self._family = family_of(model_id, inference.family)
        self._transport = transport
        self._endpoint, self._target = _place(base_url)
        self._read_key = key
        self._key: str | None = None
        self._sleep = sleep
        self._limit_name = _LIMIT_NAMES[0]
        self._streams = True
        self._max_tokens = inference.max_tokens
        choices = {"temperature": inference.temperature, "top_p": inference.top_p}
        self._sampling = {name: value for name, value in choices.items() if value is not None}
        self._fixed = {**inference.request_fields, "model": model_id, "stream": False}

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        """One answer; see the Model port for what it raises."""
        return suited(self._family, request, lambda suited_request: self._converse(suited_request, deadline, listener))

    def _converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None) -> ModelReply:
        parameters = {**self._fixed, **(self._sampling if request.sampling else {}), **parameters_of(request)}
        mended: set[str] = set()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return reply_of(self._call(parameters, deadline, listener), self.model_id)
            except (RefusedError, CallError) as error:
                if listener:
                    listener.void()
                if isinstance(error, RefusedError):
                    if "content_filter" in error.codes:  # Azure's, for the prompt
                        return ModelReply([], "guardrail_intervened", Usage(), self.model_id)
                    if attempt < ATTEMPTS and self._mend(error, mended, deadline):
                        continue
                ours, again = translated(error)
                wait = error.wait if isinstance(error, RefusedError) else 0
                if not again or attempt == ATTEMPTS or not self._pause(attempt, wait, deadline):
                    raise ours from error
        raise ModelUnavailableError

    def _call(self, parameters: dict[str, Any], deadline: Deadline, listener: TextListener | None) -> dict[str, Any]:
        if deadline.left() <= 0:
            raise OutOfTimeError
        kind = "application/json"
        headers = [
            ("Content-Type", kind),
            ("Accept", kind),
            ("Accept-Encoding", "identity"),
            *self._authorization(deadline),
        ]
        streams = _STREAMED if listener and self._streams else {}
        body = msgspec.json.encode({**parameters, **streams, self._limit_name: self._max_tokens})
        # hanging up at the deadline ends the work of servers that would go on for nobody
        response = self._transport.send(self._endpoint, "POST", self._target, headers, body, deadline)
        return _answer(response, self._key or "", listener)

    def _authorization(self, deadline: Deadline) -> list[tuple[str, str]]:
        if self._key is None:
            key = self._read_key(deadline).strip()
            if not (key.isascii() and key.isprintable()):
                raise MisconfiguredError(detail="The API key holds characters that can't be sent in a header.")
            self._key = key
        if not self._key:
            return []
        if self._endpoint.host.endswith(".azure.com") or "api-version=" in self._target.partition("?")[2]:
            return [("api-key", self._key)]
        return [("Authorization", f"Bearer {self._key}")]

    def _mend(self, refused: RefusedError, mended: set[str], deadline: Deadline) -> bool:
        """Whether the same question may fare better now: with the key read anew, or in the parameters that the model takes.

        Once each.
        """
        if refused.status == 401 and self._key and "key" not in mended:
            mended.add("key")
            old, self._key = self._key, None
            self._authorization(deadline)
            return self._key != old
        if refused.is_unsupported(self._limit_name) and "limit" not in mended:
            mended.add("limit")
            self._limit_name = next(name for name in _LIMIT_NAMES if name != self._limit_name)
            return True
        if self._streams and (refused.is_unsupported("stream_options") or refused.is_unsupported("stream")):
            self._streams = False  # without its tokens, a streamed answer would count for nothing
            return True
        return False

    def _pause(self, attempt: int, wait: float, deadline: Deadline) -> bool:
        """Waits as long as the endpoint asks, and longer with each attempt; False where that is too long."""
        return wait <= _LONGEST_PAUSE and deadline.pause(attempt, _FIRST_PAUSE, self._sleep, least=wait)


def _place(base_url: str) -> tuple[Endpoint, str]:
    """The server, and the path and query to post to."""
    try:
        endpoint, parts = endpoint_at(base_url), urlsplit(base_url.strip())
        if parts.username is not None:
            raise ValueError("a URL with a password")
    except ValueError:
        raise MisconfiguredError(  # its value is not told: it may hold a password
            detail="OPENAI_BASE_URL must be an http or https URL without user and password, such as http://localhost:11434/v1."
        ) from None
    path = endpoint.path.removesuffix("/chat/completions") + "/chat/completions"
    return endpoint, quote(f"{path}?{parts.query}" if parts.query else path, safe="/?&=:@!$'()*+,;%~")


def _answer(response: Response, key: str, listener: TextListener | None) -> dict[str, Any]:
    """The decoded answer. Raises RefusedError where it is an error or can't be read."""
    succeeded, kind = 200 <= response.status < 300, response.headers.get("content-type", "")
    if succeeded and "event-stream" in kind:
        return gather(response.pieces(), key, listener)
    body = response.body()
    if succeeded and body.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"data:"):
        return gather([body], key, listener)
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None if succeeded else body[:2000].decode(errors="replace")
    if not succeeded:
        raise refusal(response.status, response.headers, answer, key)
    if "text/html" in kind:
        raise RefusedError(404, "a web page answers there; is there a /v1 missing?")
    if not isinstance(answer, dict):
        raise RefusedError(502, "the answer is no JSON object")
    if answer.get("error"):
        raise refusal(response.status, response.headers, answer, key)
    return answer
