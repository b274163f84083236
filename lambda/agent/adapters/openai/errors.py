"""What an OpenAI-compatible endpoint says when it refuses, and what of it is ours to raise, to mend or to send again.

Codes are few and differ between servers, so that their sentences are read too. Nothing here keeps what users said.
"""

import re
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import SSLError

from agent.adapters.aws import CONNECTION_ERRORS
from agent.errors import (
    AgentError,
    MisconfiguredError,
    ModelError,
    ModelThrottledError,
    ModelUnavailableError,
    PromptTooLongError,
)

_MAX_DETAIL = 300  # characters of a server's sentence in the log
# In lower case, as OpenAI, Azure, vLLM, llama.cpp, LM Studio, Mistral, Groq, Gemini and Claude's endpoint word it.
_TOO_LONG = (
    "context length",
    "context_length",
    "context size",
    "context_size",
    "context window",
    "context limit",
    "prompt is too long",
    "input is too long",
    "input token",
    "reduce the length",
    "too large for model",
)
_WRONG_SETUP = (
    "api key",
    "api_key",
    "model_not_found",
    "does not support tools",  # Ollama
    "requires --",  # vLLM and llama.cpp name the option that their server was started without
)
_UNSUPPORTED = ("unsupported", "not supported", "unrecognized", "unknown", "not permitted")
# Pydantic's errors, which servers pass on, repeat the value that they complain about.
_ECHO = re.compile(r"input_value=|['\"]input['\"]:")
# Whoever waited in vain may still be served: 504 and Cloudflare's 524 come from a proxy before the model.
_TIMED_OUT = (408, 504, 524)


class RefusedError(Exception):
    """An answer that is none: its HTTP status, the server's codes for it, and the seconds it asks to wait."""

    def __init__(
        self, status: int, message: str, codes: tuple[str, ...] = (), wait: float = 0, secret: str = ""
    ) -> None:
        self.status = status
        self.codes = codes
        self.wait = wait
        self.text = f"{' '.join(codes)} {message}".lower()
        told = _ECHO.split(message, maxsplit=1)[0][:_MAX_DETAIL]
        told = " ".join(part for part in (str(status), *codes, told) if part)
        super().__init__(told.replace(secret, "***") if secret else told)

    def is_unsupported(self, parameter: str) -> bool:
        """Whether the server doesn't know this parameter, or doesn't take it for this model."""
        words = set(re.findall(r"\w+", self.text))
        return self.status in (400, 422) and parameter in words and any(word in self.text for word in _UNSUPPORTED)


def refusal(status: int, headers: Mapping[str, str], answer: object, secret: str = "") -> RefusedError:
    """The refusal in a decoded answer, whichever way its server words it; `secret` is kept out of the text.

    Some servers send errors with HTTP status 200, and the real one as a code inside.
    """
    if isinstance(answer, list) and answer:  # Gemini
        answer = answer[0]
    error = answer.get("error") or answer if isinstance(answer, dict) else {}
    if not isinstance(error, dict):
        error = {"message": error}
    codes = tuple(dict.fromkeys(str(error[name]) for name in ("code", "type", "param") if error.get(name)))
    if status < 300:
        code = error.get("code")
        status = code if isinstance(code, int) and 300 <= code < 600 else 502
        status = 429 if any("rate_limit" in code for code in codes) else status
    message = error.get("message") or error.get("Message") or _details(error.get("detail"))
    return RefusedError(status, str(message or "no reason was given"), codes, _wait(headers), secret)


def translated(error: Exception) -> tuple[AgentError, bool]:
    """Our error for the endpoint's or the connection's, and whether the same request may be sent again."""
    detail = str(error)
    if isinstance(error, RefusedError):
        return _refused(error.status, error.text, detail)
    if isinstance(error, SSLError) and "CERTIFICATE_VERIFY_FAILED" in detail:
        return MisconfiguredError(detail=f"{detail} (the endpoint's certificate is not to be trusted)"), False
    # a read time-out is not among these: the model may still be at it, and would cost twice
    return ModelUnavailableError(detail=detail), isinstance(error, CONNECTION_ERRORS)


def _refused(status: int, text: str, detail: str) -> tuple[AgentError, bool]:
    if status == 429:
        return ModelThrottledError(detail=detail), "insufficient_quota" not in text
    if status == 413 or (status not in (401, 403) and any(words in text for words in _TOO_LONG)):
        return PromptTooLongError(detail=detail), False
    if status < 400 or status in (401, 402, 403, 404, 405) or any(words in text for words in _WRONG_SETUP):
        return MisconfiguredError(detail=f"{detail} (check OPENAI_BASE_URL, MODEL_ID and the API key)"), False
    if status in _TIMED_OUT:
        return ModelUnavailableError(detail=detail), False
    if status >= 500:
        return ModelUnavailableError(detail=detail), True
    return ModelError(detail=detail), False


def _details(detail: Any) -> str:
    """FastAPI's reasons, without the values that they are about."""
    if isinstance(detail, list):
        return "; ".join(f"{d.get('loc')}: {d.get('msg')}" for d in detail if isinstance(d, dict))
    return str(detail or "")


def _wait(headers: Mapping[str, str]) -> float:
    """Seconds; OpenAI and Azure tell milliseconds too. A date, which the header may hold as well, is left out."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name) or ""
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", value):
            return float(value) / unit
    return 0
