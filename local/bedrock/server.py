"""The stand-in itself: it keeps what it was sent, refuses what Bedrock refuses, and lets its model answer the rest."""

from __future__ import annotations

import copy
import logging
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from local.bedrock.http_server import HttpServer
from local.bedrock.issued import Issued
from local.bedrock.reply import Model, Reply, error_reply
from local.bedrock.rules import Violation, decode, violations

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RecordedRequest:
    """One request as it came, blobs still base64, with the rules that it breaks (warnings among them)."""

    model_id: str
    body: dict[str, Any]
    violations: list[Violation]
    stream: bool


class BedrockServer:
    """Bedrock's Converse and ConverseStream on 127.0.0.1, at `url`; `requests` holds what came, oldest first.

    Use it as a context manager, or with `start` and `close`. With `port` 0 the system picks a free one; a port that
    is taken raises OSError.
    """

    def __init__(self, model: Model, *, port: int = 0) -> None:
        self.requests: list[RecordedRequest] = []
        self._model = model
        self._issued = Issued()
        self._http = HttpServer(port, self._answer)
        self._thread = threading.Thread(target=self._http.serve, name="bedrock-stand-in", daemon=True)

    @property
    def url(self) -> str:
        """The endpoint for `AWS_ENDPOINT_URL_BEDROCK_RUNTIME`."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def start(self) -> None:
        """Begin to serve, in a thread of its own."""
        self._thread.start()

    def close(self) -> None:
        """Stop serving and end all connections, silent ones too."""
        if self._thread.is_alive():
            self._http.stop()
            self._thread.join()
        self._http.server_close()

    def __enter__(self) -> BedrockServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answer(self, model_id: str, raw: bytes, stream: bool) -> tuple[dict[str, Any], Reply]:
        body, found = decode(raw)
        found = found or violations(model_id, body, stream=stream, issued=self._issued)
        self.requests.append(RecordedRequest(model_id, body, found, stream))
        if broken := [f"{violation.rule}: {violation.message}" for violation in found if violation.level == "error"]:
            return body, error_reply("ValidationException", message="; ".join(broken))
        try:
            reply = self._model(model_id, copy.deepcopy(body))
        except Exception as error:  # a model is anyone's code: its bug must reach the caller as an answer, and the log
            _logger.exception("the model behind the stand-in failed")
            return body, error_reply("InternalServerException", 500, f"the model behind the stand-in failed: {error!r}")
        if reply.error is None and reply.mischief is None:
            self._issued.record(body, reply.content)
        return body, reply
