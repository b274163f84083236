"""What the rehearsal asks of the deployed copy where answers stream: that each byte arrives as it was sent."""

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

from local.deploy.readback import Check
from local.deploy.runtime import LambdaRuntime
from local.gateway import Gateway, Streaming
from local.hearing import EventReader
from local.runtime_api import PRELUDE_END

SESSION = "rehearsal-streamed"
BODY = {"question": "What is the sine of 1?", "session_id": SESSION, "request_id": "streamed"}


def send_streams(runtime: LambdaRuntime, seconds: float) -> Iterator[Check]:
    """A question over HTTP, as events; the same again, whole; and one that is refused."""
    posted: list[bytes] = []

    def invoke(event: dict[str, Any], on_chunk: Any) -> tuple[Any, bool]:
        def take(chunk: bytes) -> None:
            posted.append(chunk)
            on_chunk(chunk)

        return runtime.invoke(event, take)

    def as_function_url(event: dict[str, Any]) -> dict[str, Any]:
        context = {**event["requestContext"], "domainName": "rehearsal.lambda-url.us-east-1.on.aws"}
        return {**event, "requestContext": context}

    with Gateway(
        runtime.invoke, routes=["POST /chat"], streaming=Streaming(as_function_url, invoke, seconds)
    ) as gateway:
        read, kind = _post(f"{gateway.url}/chat", "text/event-stream")
        head, _, body = b"".join(posted).partition(PRELUDE_END)
        events = EventReader().read(read)
        names = [name for name, _ in events]
        yield Check("a streamed answer's status and type", (200, "text/event-stream"), (_status(head), kind))
        yield Check("its bytes, as they were posted", body, read)
        yield Check("it came in pieces", True, len(posted) > 1)
        yield Check("its first and last event", ("start", "answer"), (names[0], names[-1]) if names else ())
        plain, kind = _post(f"{gateway.url}/chat", "application/json")
        yield Check("the same request, asked for whole", events[-1][1] if events else None, json.loads(plain))


def _status(head: bytes) -> int:
    return int(json.loads(head)["statusCode"])


def _post(url: str, accept: str) -> tuple[bytes, str]:
    """The body, and its type."""
    headers = {"content-type": "application/json", "accept": accept}
    # No proxy of the machine's: the request stays on it.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, json.dumps(BODY).encode(), headers), timeout=60) as response:
        return response.read(), str(response.headers["content-type"])
