"""The function behind HTTP, such as a `serve` that runs, asked as if it were called directly."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from local.problem import ProblemError
from local.serve import CALLER_HEADER

# Longer than any gateway waits.
_SECONDS = 130.0


@dataclass(frozen=True)
class Remote:
    """A function at an address; `caller` is who asks, where it is `serve`, or blank."""

    url: str
    caller: str = ""

    def invoke(self, event: Any, on_chunk: Callable[[bytes], object] = lambda chunk: None) -> tuple[Any, bool]:
        """The answer to a direct event and True, or the error and False. Raises ProblemError where nobody answers."""
        path, body = "/chat", event
        if "approvals" in event:
            path = f"/sessions/{quote(event['session_id'], safe='')}/approvals"
            body = {"approvals": event["approvals"]}
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise ProblemError(f"--url must begin with http:// or https://, but is {self.url!r}.")
        headers = {"content-type": "application/json"} | ({CALLER_HEADER: self.caller} if self.caller else {})
        request = urllib.request.Request(f"{self.url.rstrip('/')}{path}", json.dumps(body).encode(), headers)
        # A proxy is for what is far away, not for this machine.
        is_here = urlsplit(self.url).hostname in ("localhost", "127.0.0.1", "::1")
        opener = urllib.request.build_opener(*([urllib.request.ProxyHandler({})] if is_here else []))
        try:
            with opener.open(request, timeout=_SECONDS) as response:
                return _json(response.read()), True
        except urllib.error.HTTPError as refusal:
            with refusal:
                return _json(refusal.read()) or {"message": f"HTTP status {refusal.code}"}, False
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise ProblemError(
                f"{self.url} can't be asked: {reason}. `python -m local serve` runs the function there."
            ) from error


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
