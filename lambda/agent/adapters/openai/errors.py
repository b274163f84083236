"""What an OpenAI-compatible endpoint says when it refuses, and which error of ours it is. Nothing here keeps what users said."""

import re
from collections.abc import Mapping
from typing import Any

from agent.adapters.refusals import read_refusal
from agent.aws.errors import ConnectionFailedError, TimedOutError
from agent.errors import AgentError, ModelUnavailableError, OutOfTimeError

_CHECK = "(check OPENAI_BASE_URL, MODEL_ID and the API key)"
_UNSUPPORTED = ("unsupported", "not supported", "unrecognized", "unknown", "not permitted")
_TAG = re.compile(r"<[^>]{0,999}>")  # proxies answer web pages
# Pydantic's errors, which servers pass on, repeat the value that they complain about.
_ECHO = re.compile(r"input_value=|['\"]input['\"]:")


class RefusedError(Exception):
    """An answer that is none: its HTTP status, the server's codes for it, and the seconds it asks to wait."""

    def __init__(
        self, status: int, message: str, codes: tuple[str, ...] = (), wait: float = 0, secret: str = ""
    ) -> None:
        self.status = status
        self.codes = codes
        self.wait = wait
        self.message = message
        told = " ".join(
            dict.fromkeys(part for part in (str(status), *codes, _ECHO.split(message, maxsplit=1)[0]) if part)
        )
        super().__init__(told.replace(secret, "***") if secret else told)

    def is_unsupported(self, parameter: str) -> bool:
        """Whether the server doesn't know this parameter, or doesn't take it for this model."""
        text = f"{' '.join(self.codes)} {self.message}".lower()
        words = re.findall(r"\w+", text)
        return self.status in (400, 422) and parameter in words and any(word in text for word in _UNSUPPORTED)


def refusal(status: int, headers: Mapping[str, str], answer: object, secret: str = "") -> RefusedError:
    """The refusal in a decoded answer, whichever way its server words it; `secret` is kept out of the text.

    Some servers send errors with HTTP status 200, and the real one as a code inside.
    """
    if isinstance(answer, list) and answer:  # Gemini
        answer = answer[0]
    error = answer.get("error") or answer if isinstance(answer, dict) else answer
    if not isinstance(error, dict):
        error = {"message": _TAG.sub(" ", error).strip() if isinstance(error, str) else error}
    codes = tuple(dict.fromkeys(str(error[name]) for name in ("code", "type", "param") if error.get(name)))
    if status < 300:
        told = (error.get(name) for name in ("code", "status_code", "status"))
        status = next((code for code in told if isinstance(code, int) and 300 <= code < 600), 502)
        kinds = {"rate_limit": 429, "invalid_request": 400, "tool_use_failed": 400}
        status = next((each for kind, each in kinds.items() if any(kind in code for code in codes)), status)
    message = error.get("message") or error.get("Message") or _details(error.get("detail"))
    return RefusedError(status, str(message or "no reason was given"), codes, _wait(headers), secret)


def translated(error: Exception) -> tuple[AgentError, bool]:
    """Our error for the endpoint's or the connection's, and whether the same request may be sent again."""
    detail = str(error)
    if isinstance(error, RefusedError):
        return read_refusal(error.status, " ".join(error.codes), error.message, detail, _CHECK)
    # what ran out of time is not sent again: the model may still be at it, and would cost twice
    if isinstance(error, TimedOutError):
        return OutOfTimeError(detail=detail), False
    return ModelUnavailableError(detail=detail), isinstance(error, ConnectionFailedError)


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
