"""Lambda on this machine: the Runtime API, driving AWS's own runtime client in a process of its own.

Protocol: "Using the Lambda runtime API" in the Lambda Developer Guide. One invocation at a time, as in one execution
environment; a time-out or a crash ends the process, and the next invocation starts another.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from typing import Any, Self

API = "/2018-06-01/runtime/"
# The runtime client and what it brings along: what Lambda has beside the bundle.
RUNTIME_PACKAGES = ("awslambdaric", "snapshot-restore-py", "simplejson")
Outcome = tuple[Any, bool]


@dataclass
class _Invocation:
    event: bytes
    deadline_ms: int
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    outcome: Future[Outcome] = field(default_factory=Future)

    def settle(self, result: Any, succeeded: bool) -> None:
        """The first outcome counts: a process may still answer after its time was over."""
        try:
            self.outcome.set_result((result, succeeded))
        except InvalidStateError:
            return


class LambdaRuntime:
    """Runs an unpacked bundle with an environment. Its modules come from the bundle and the standard library alone.

    `logs` holds the lines that the function wrote. A context manager; or `close` it.
    """

    def __init__(
        self, task_root: Path, handler: str, environment: Mapping[str, str], *, timeout_seconds: float, name: str
    ) -> None:
        self.logs: list[str] = []
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._sandbox: _Sandbox | None = None
        self._packages = tempfile.TemporaryDirectory(prefix="lambda-runtime-")
        _link_packages(Path(self._packages.name))
        self._environment = {
            "PATH": os.environ.get("PATH", ""),
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "PYTHONPATH": os.pathsep.join([str(task_root), self._packages.name]),
            "LAMBDA_TASK_ROOT": str(task_root),
            "_HANDLER": handler,
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            # The runtime client writes JSON as UTF-8 for this and later ones.
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
            **environment,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def invoke(self, event: Any) -> Outcome:
        """The function's result and True, or Lambda's error object (errorType, errorMessage) and False."""
        with self._lock:
            if self._sandbox is None or self._sandbox.ended():
                self._end()
                self._sandbox = _Sandbox(self._environment, self.logs)
            deadline_ms = int((time.time() + self._timeout_seconds) * 1000)
            invocation = _Invocation(json.dumps(event, ensure_ascii=False).encode(), deadline_ms)
            self._sandbox.api.hand_out(invocation)
            try:
                return invocation.outcome.result(self._timeout_seconds)
            except TimeoutError:
                self._end()
                message = f"{invocation.request_id} Task timed out after {self._timeout_seconds:.2f} seconds"
                return {"errorType": "Sandbox.Timedout", "errorMessage": message}, False

    def close(self) -> None:
        """Ends the process."""
        self._end()
        self._packages.cleanup()

    def _end(self) -> None:
        if self._sandbox:
            self._sandbox.close()
            self._sandbox = None


class _Sandbox:
    """One process of the function, with a Runtime API of its own."""

    def __init__(self, environment: Mapping[str, str], logs: list[str]) -> None:
        self.api = _RuntimeApi(("127.0.0.1", 0), _Handler)
        name = environment["AWS_LAMBDA_FUNCTION_NAME"]
        self.api.function_arn = f"arn:aws:lambda:us-east-1:123456789012:function:{name}"
        threading.Thread(target=self.api.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self._logs = logs
        # Without site-packages (-S), as on Lambda: what the bundle lacks is missed here too.
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-m", "awslambdaric", environment["_HANDLER"]],
            cwd=environment["LAMBDA_TASK_ROOT"],
            env={**environment, "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.api.server_port}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        self._follower = threading.Thread(target=self._follow, daemon=True)
        self._follower.start()

    def ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    def close(self) -> None:
        """Ends the process and its Runtime API."""
        self._process.kill()
        self._follower.join()
        self.api.waiting.put(None)
        self.api.shutdown()
        self.api.server_close()

    def _follow(self) -> None:
        """Keeps what the process writes; when it has ended, so has its invocation."""
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            self._logs.extend(line.rstrip("\n") for line in lines)
        self.api.fail({"errorType": "Runtime.ExitError", "errorMessage": f"Runtime exited with {self._process.wait()}"})


class _RuntimeApi(ThreadingHTTPServer):
    daemon_threads = True
    function_arn = ""

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.waiting: queue.Queue[_Invocation | None] = queue.Queue()
        self._current: _Invocation | None = None

    def hand_out(self, invocation: _Invocation) -> None:
        self._current = invocation
        self.waiting.put(invocation)

    def settle(self, request_id: str, result: Any, succeeded: bool) -> None:
        if self._current and self._current.request_id == request_id:
            self._current.settle(result, succeeded)

    def fail(self, error: dict[str, Any]) -> None:
        if self._current:
            self._current.settle(error, False)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The process was ended while it asked for work: nothing to tell."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else two delayed acknowledgements of 40 ms lie in each invocation.
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _RuntimeApi

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the function's own lines are what counts."""

    def do_GET(self) -> None:
        """The next invocation, when there is one."""
        invocation = self.server.waiting.get() if self.path == f"{API}invocation/next" else None
        if invocation is None:
            self.close_connection = True
            return
        headers = {
            "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
            "Lambda-Runtime-Deadline-Ms": str(invocation.deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": self.server.function_arn,
            "Content-Type": "application/json",
        }
        self._reply(200, invocation.event, headers)

    def do_POST(self) -> None:
        """A result, an error, or why the function could not be loaded."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")
        match self.path.removeprefix(API).split("/"):
            case ["invocation", request_id, "response"]:
                self.server.settle(request_id, body, True)
            case ["invocation", request_id, "error"]:
                self.server.settle(request_id, body, False)
            case ["init", "error"]:
                self.server.fail(body)
        self._reply(202, b'{"status":"OK"}', {})

    def _reply(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


def _link_packages(folder: Path) -> None:
    """Links the runtime client's files into a folder of their own, since the rest of site-packages stays out."""
    for package in RUNTIME_PACKAGES:
        distribution = metadata.distribution(package)
        tops = {file.parts[0] for file in distribution.files or () if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            (folder / top).symlink_to(Path(str(distribution.locate_file(top))))
