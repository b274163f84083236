"""Lambda on this machine: the Runtime API, driving AWS's own runtime client in a process of its own.

One invocation at a time, as in one execution environment; a time-out or a crash ends the process, and the next invocation
starts another.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Self

from local.runtime_api import Invocation, Outcome, RuntimeApi

_SDK = ("boto3", "botocore", "s3transfer", "jmespath", "python-dateutil", "six", "urllib3")
# What Lambda has beside the bundle: the runtime client with what it brings along, and AWS's SDK with what it needs.
RUNTIME_PACKAGES = ("awslambdaric", "snapshot-restore-py", "simplejson", *_SDK)


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

    def invoke(
        self, event: Any, on_chunk: Callable[[bytes], object] = lambda chunk: None, *, request_id: str = ""
    ) -> Outcome:
        """The function's result and True, or Lambda's error object (errorType, errorMessage) and False.

        Of a streamed response the result is its whole text, prelude included, and `on_chunk` gets its chunks as they come.
        """
        with self._lock:
            if self._sandbox is None or not self._sandbox.is_free(self._timeout_seconds):
                self._end()
                self._sandbox = _Sandbox(self._environment, self.logs)
            deadline_ms = int((time.time() + self._timeout_seconds) * 1000)
            invocation = Invocation(json.dumps(event, ensure_ascii=False).encode(), deadline_ms, on_chunk)
            invocation.request_id = request_id or invocation.request_id
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
        name = environment["AWS_LAMBDA_FUNCTION_NAME"]
        self.api = RuntimeApi(f"arn:aws:lambda:us-east-1:123456789012:function:{name}")
        self._logs = logs
        # Without site-packages (-S), as on Lambda: what the bundle lacks is missed here too.
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-m", "awslambdaric", environment["_HANDLER"]],
            cwd=environment["LAMBDA_TASK_ROOT"],
            env={**environment, "AWS_LAMBDA_RUNTIME_API": self.api.address},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        self._follower = threading.Thread(target=self._follow, daemon=True)
        self._follower.start()

    def is_free(self, seconds: float) -> bool:
        """Whether the process asks for work, so soon at least; False where it has ended instead."""
        limit = time.monotonic() + seconds
        while self._process.poll() is None and time.monotonic() < limit:
            if self.api.is_asked.wait(0.01):
                return True
        return False

    def close(self) -> None:
        """Ends the process and its Runtime API."""
        self._process.kill()
        self._follower.join()
        self.api.close()

    def _follow(self) -> None:
        """Keeps what the process writes; when it has ended, so has its invocation."""
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            self._logs.extend(line.rstrip("\n") for line in lines)
        self.api.fail({"errorType": "Runtime.ExitError", "errorMessage": f"Runtime exited with {self._process.wait()}"})


def _link_packages(folder: Path) -> None:
    """Links the runtime client's files into a folder of their own, since the rest of site-packages stays out."""
    for package in RUNTIME_PACKAGES:
        distribution = metadata.distribution(package)
        tops = {file.parts[0] for file in distribution.files or () if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            (folder / top).symlink_to(Path(str(distribution.locate_file(top))))
