"""A model behind any OpenAI-compatible chat completions endpoint. One layer of retries, bounded by the turn's time.

Over botocore's HTTP client, which the function has loaded anyway (below 1 ms more); to import the openai package takes a second.
It keeps connections, checks certificates and follows no redirect, so that the key goes to no other host.
"""

import json
import random
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session
from botocore.utils import get_environ_proxies

from agent.adapters.bedrock.model import ATTEMPTS, Inference
from agent.adapters.families import family_of, suited
from agent.adapters.openai.errors import RefusedError, refusal, translated
from agent.adapters.openai.messages import parameters_of, reply_of
from agent.adapters.openai.stream import gather
from agent.deadline import Deadline, start
from agent.errors import MisconfiguredError, ModelUnavailableError, OutOfTimeError
from agent.messages import Usage
from agent.ports import ModelReply, ModelRequest, TextListener

_CONNECT_TIMEOUT = 3.0  # seconds
_READ_TIMEOUT = 890.0  # seconds; each call has a shorter one, what is left of its turn
_FIRST_PAUSE = 0.5  # seconds; doubled, with jitter
_LONGEST_PAUSE = 20.0  # seconds; who asks for more is told the caller, who can wait at less cost
# The old name is the one that all servers know, but OpenAI's newer models refuse it.
_LIMIT_NAMES = ("max_tokens", "max_completion_tokens")


class OpenAIModel:
    """Chat completions with one model. A path and a query of the base URL are kept, as Azure's deployments need them.

    `key` reads the API key, "" for none: at the first call, and again when it is refused. Raises MisconfiguredError for a
    URL that is none, or a guardrail, which only Bedrock's Converse applies.
    """

    def __init__(
        self,
        base_url: str,
        model_id: str,
        key: Callable[[], str],
        inference: Inference,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if inference.guardrail:
            raise MisconfiguredError(detail="GUARDRAIL_ID is set, but only Bedrock's Converse applies guardrails.")
        self.model_id = model_id
        self._family = family_of(model_id, inference.family)
        self._url = _endpoint(base_url)
        self._read_key = key
        self._key: str | None = None
        self._sleep = sleep
        self._limit_name = _LIMIT_NAMES[0]
        self._max_tokens = inference.max_tokens
        choices = {"temperature": inference.temperature, "top_p": inference.top_p}
        self._sampling = {name: value for name, value in choices.items() if value is not None}
        self._fixed = {**inference.request_fields, "model": model_id, "stream": False}
        self._session = URLLib3Session(
            timeout=(_CONNECT_TIMEOUT, _READ_TIMEOUT),  # type: ignore[arg-type]  # the stubs know no pair
            proxies=get_environ_proxies(self._url),
        )

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        """One answer; see the Model port for what it raises."""
        return suited(self._family, request, lambda suited_request: self._converse(suited_request, deadline))

    def _converse(self, request: ModelRequest, deadline: Deadline) -> ModelReply:
        parameters = {**self._fixed, **(self._sampling if request.sampling else {}), **parameters_of(request)}
        mended: set[str] = set()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return reply_of(self._call(parameters, deadline), self.model_id)
            except (RefusedError, BotoCoreError) as error:
                if isinstance(error, RefusedError):
                    if "content_filter" in error.codes:  # Azure's, for the prompt
                        return ModelReply([], "guardrail_intervened", Usage(), self.model_id)
                    if attempt < ATTEMPTS and self._mend(error, mended):
                        continue
                ours, again = translated(error)
                wait = error.wait if isinstance(error, RefusedError) else 0
                if not again or attempt == ATTEMPTS or not self._pause(attempt, wait, deadline):
                    raise ours from error
        raise ModelUnavailableError

    def _call(self, parameters: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        """One request, waited for until the deadline: a socket's time-out starts anew with each byte, so it can't bound this."""
        left = deadline.left()
        if left <= 0:
            raise OutOfTimeError
        body = msgspec.json.encode({**parameters, self._limit_name: self._max_tokens})
        future = start(lambda: self._send(body, left))
        try:
            response = future.result(timeout=deadline.left())
        except TimeoutError:
            raise OutOfTimeError from None
        return _answer(response, self._key or "")

    def _send(self, body: bytes, seconds: float) -> AWSResponse:
        headers: Any = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "agent"}
        headers |= self._authorization()
        # hanging up ends the work of servers that would go on for nobody; a second later, so that the deadline is noticed first
        context = {"read_timeout": seconds + 1}
        request = AWSPreparedRequest("POST", self._url, headers, body, False, context)
        response: AWSResponse = self._session.send(request)
        return response

    def _authorization(self) -> dict[str, str]:
        if self._key is None:
            key = self._read_key().strip()
            if not (key.isascii() and key.isprintable()):
                raise MisconfiguredError(detail="The API key holds characters that can't be sent in a header.")
            self._key = key
        if not self._key:
            return {}
        parts = urlsplit(self._url)
        if str(parts.hostname).endswith(".azure.com") or "api-version=" in parts.query:
            return {"api-key": self._key}
        return {"Authorization": f"Bearer {self._key}"}

    def _mend(self, refused: RefusedError, mended: set[str]) -> bool:
        """Whether the same question may fare better now: with the key read anew, or in the parameters that the model takes.

        Once each.
        """
        if refused.status == 401 and self._key and "key" not in mended:
            mended.add("key")
            old, self._key = self._key, None
            self._authorization()
            return self._key != old
        if refused.is_unsupported(self._limit_name) and "limit" not in mended:
            mended.add("limit")
            self._limit_name = next(name for name in _LIMIT_NAMES if name != self._limit_name)
            return True
        return False

    def _pause(self, attempt: int, wait: float, deadline: Deadline) -> bool:
        """Waits as long as the endpoint asks, and longer with each attempt; False where that is too long."""
        seconds = max(wait, _FIRST_PAUSE * 2 ** (attempt - 1) * random.uniform(0.5, 1))
        if seconds > _LONGEST_PAUSE or deadline.left() <= seconds:
            return False
        self._sleep(seconds)
        return True


def _endpoint(base_url: str) -> str:
    parts = _split(base_url.strip())
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise MisconfiguredError(  # its value is not told: it may hold a password
            detail="OPENAI_BASE_URL must be an http or https URL without user and password, such as http://localhost:11434/v1."
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else None  # to read a port that is none raises, too
    except ValueError:
        return None


def _answer(response: AWSResponse, key: str) -> dict[str, Any]:
    """The decoded answer. Raises RefusedError where it is an error or can't be read."""
    body, kind = response.content, str(response.headers.get("Content-Type") or "")
    succeeded = 200 <= response.status_code < 300
    if succeeded and ("event-stream" in kind or body.lstrip().startswith(b"data:")):
        return gather([body], key)
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None if succeeded else body[:2000].decode(errors="replace")
    if not succeeded:
        raise refusal(response.status_code, response.headers, answer, key)
    if "text/html" in kind:
        raise RefusedError(404, "a web page answers there; is there a /v1 missing?")
    if not isinstance(answer, dict):
        raise RefusedError(502, "the answer is no JSON object")
    if answer.get("error"):
        raise refusal(response.status_code, response.headers, answer, key)
    return answer
