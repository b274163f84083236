"""An answer that streams, between the thread that makes it and the one that hands it on."""

import json
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

from local.payload import HttpResponse, build_response, message
from local.runtime_api import PRELUDE_END

Headers = tuple[tuple[str, str], ...]
Invoke = Callable[[dict[str, Any], Callable[[bytes], object]], tuple[Any, bool]]
_MOST_WAITING = 16  # chunks: a client that doesn't read holds up the function's writer, as Lambda would
_POLL_SECONDS = 0.2  # how soon it is noticed that a client has left


class StreamedAnswer:
    """Invokes the function in a thread of its own; what it streams can be read while it runs on."""

    def __init__(self, invoke: Invoke, event: dict[str, Any]) -> None:
        self._came: queue.Queue[bytes | tuple[Any, bool]] = queue.Queue(_MOST_WAITING)
        self._has_left = threading.Event()
        threading.Thread(target=self._run, args=(invoke, event), daemon=True).start()

    def response(self, seconds: float) -> HttpResponse:
        """The response once its head is there; one that wasn't streamed is whole. Raises TimeoutError."""
        head = b""
        while PRELUDE_END not in head:
            try:
                came = self._came.get(timeout=seconds)
            except queue.Empty as error:
                raise TimeoutError from error
            if isinstance(came, tuple):
                result, succeeded = came
                return build_response(result) if succeeded else message(502, "Internal Server Error")
            head += came
        told, _, body = head.partition(PRELUDE_END)
        prelude = json.loads(told)
        headers = tuple((name, str(value)) for name, value in prelude.get("headers", {}).items())
        return HttpResponse(prelude["statusCode"], headers, body, self._rest())

    def events(self, seconds: float, headers: Headers) -> HttpResponse:
        """The response to a direct event that asks for a stream; an answer that wasn't streamed is whole, as JSON.

        Raises TimeoutError where neither begins in these seconds.
        """
        try:
            came = self._came.get(timeout=seconds)
        except queue.Empty as error:
            raise TimeoutError from error
        if not isinstance(came, tuple):
            return HttpResponse(200, (*headers, ("content-type", "text/event-stream")), came, self._rest())
        result, succeeded = came
        if not succeeded:
            error_type, told = (result.get(name, "") for name in ("errorType", "errorMessage"))
            result = {"error": {"code": error_type, "message": told}}
        status = 502 if not succeeded else 400 if "error" in result else 200
        content = json.dumps(result, ensure_ascii=False).encode()
        return HttpResponse(status, (*headers, ("content-type", "application/json")), content)

    def leave(self) -> None:
        """Nobody reads any more; the function runs on all the same."""
        self._has_left.set()

    def _rest(self) -> Iterator[bytes]:
        try:
            while not isinstance(came := self._came.get(), tuple):
                yield came
        finally:
            self.leave()
        if not came[1]:
            raise ConnectionError("the stream was cut off")

    def _run(self, invoke: Invoke, event: dict[str, Any]) -> None:
        try:
            outcome = invoke(event, self._put)
        except Exception as error:  # noqa: BLE001 - handed to the thread that waits, as a failure
            outcome = {"errorType": type(error).__name__, "errorMessage": str(error)}, False
        self._put(outcome)

    def _put(self, came: bytes | tuple[Any, bool]) -> None:
        while not self._has_left.is_set():
            try:
                self._came.put(came, timeout=_POLL_SECONDS)
                return
            except queue.Full:
                continue
