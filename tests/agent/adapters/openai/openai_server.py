"""An OpenAI-compatible endpoint on loopback: it refuses what OpenAI refuses, and answers from a script, mistakes included."""

import json
import re
import socketserver
import ssl
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

Mischief = Literal["none", "drop", "cut", "hang", "drip"]


@dataclass(frozen=True)
class Answer:
    """What is sent back. `cut` ends the connection half way, `drip` sends a byte at a time and never ends."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    mischief: Mischief = "none"


@dataclass(frozen=True)
class Asked:
    """One request as it came; `connection` tells connections apart."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    connection: int


def call(identifier: Any, name: Any = "echo", arguments: Any = "{}") -> dict[str, Any]:
    """An entry of tool_calls."""
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def completion(content: Any = None, *calls: Any, reason: Any = "stop", usage: Any = None, **message: Any) -> Answer:
    """A chat completion with this message."""
    message = {"role": "assistant", "content": content} | ({"tool_calls": list(calls)} if calls else {}) | message
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    counted = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25} if usage is None else usage
    return as_json({"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": counted})


def asks(*calls: Any) -> Answer:
    """A completion that asks for tools."""
    return completion(None, *calls, reason="tool_calls")


def as_json(value: Any, status: int = 200, **headers: str) -> Answer:
    """Any JSON as an answer; underscores in the headers' names stand for hyphens."""
    return Answer(json.dumps(value).encode(), status, {name.replace("_", "-"): v for name, v in headers.items()})


def error(status: int, message: str = "", code: Any = None, param: Any = None, **headers: str) -> Answer:
    """An error as OpenAI words it."""
    told = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return as_json({"error": told}, status, **headers)


def stream(*chunks: Any, end: str = "data: [DONE]\n\n", kind: str = "text/event-stream; charset=utf-8") -> Answer:
    """An event stream of these chunks."""
    events = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return Answer((events + end).encode(), kind=kind)


def delta(reason: Any = None, **parts: Any) -> dict[str, Any]:
    """One chunk of a stream."""
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": parts, "finish_reason": reason}]}


class OpenAIServer:
    """The endpoint, within its context; `asked` holds what came. With a `key`, it asks for it."""

    def __init__(self, *answers: Answer, key: str = "", newer: bool = False, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.answers = deque(answers)
        self.key = key
        self.newer = newer  # whether it refuses max_tokens, as OpenAI does for its newer models
        self.closing = threading.Event()
        self._http = _Http(self)
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def answer(self, asked: Asked) -> Answer:
        """The next answer of the script, or why the request is refused."""
        self.asked.append(asked)
        if self.key and self.key not in (asked.headers.get("Authorization", "")[7:], asked.headers.get("api-key")):
            return error(401, "Incorrect API key provided.", "invalid_api_key")
        if self.newer and "max_tokens" in asked.body:
            text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            return error(400, text, "unsupported_parameter", "max_tokens")
        wrong = "; ".join(mistakes(asked.body))
        if wrong:
            return error(400, wrong)
        return self.answers.popleft() if self.answers else error(418, "the script has no more answers")


def mistakes(body: dict[str, Any]) -> Iterable[str]:
    """What OpenAI refuses in a request."""
    if not isinstance(body.get("model"), str) or not body.get("messages"):
        yield "model and messages are required"
    if "tools" in body and not body["tools"]:
        yield "[] is too short - 'tools'"
    for tool in body.get("tools", ()):
        if tool["type"] != "function" or tool["function"]["parameters"]["type"] != "object":
            yield "a tool is no function with an object schema"
    open_calls: list[str] = []
    for message in body.get("messages", ()):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                yield "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            else:
                open_calls.remove(message["tool_call_id"])
        elif open_calls:
            yield "an assistant message with 'tool_calls' must be followed by tool messages"
        calls = message.get("tool_calls", ())
        if "tool_calls" in message and not calls:
            yield "[] is too short - 'messages.tool_calls'"
        if not isinstance(message["content"], str | list) and not (message["content"] is None and calls):
            yield "content must be a string or a list of parts"
        for entry in calls:
            open_calls.append(entry["id"])
            arguments = entry["function"]["arguments"]
            if not isinstance(arguments, str) or not isinstance(json.loads(arguments), dict):
                yield "arguments must be a string that holds a JSON object"
            if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", entry["function"]["name"]):
                yield "a function's name does not match"
    if open_calls:
        yield "tool calls are unanswered"


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, endpoint: OpenAIServer) -> None:
        self.endpoint = endpoint
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        """Without looking up the host's name, which takes seconds on some machines."""
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news, and its test sees all else."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Asked(self.path, dict(self.headers), body, self.client_address[1])
        answer = self.server.endpoint.answer(asked)
        closing = self.server.endpoint.closing
        if answer.mischief == "hang":
            closing.wait()
        if answer.mischief in ("hang", "drop"):
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if answer.mischief == "drip":
            while not closing.wait(0.01):
                self.wfile.write(b" ")
        half = len(answer.body) // 2 if answer.mischief == "cut" else len(answer.body)
        self.wfile.write(answer.body[:half])
        self.close_connection = self.close_connection or answer.mischief != "none"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: whoever looks, looks at what was asked."""
