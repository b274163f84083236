"""The function of lambda/, run in this process as Lambda would, and loaded again when its files have changed."""

import contextlib
import importlib
import json
import logging
import os
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from local.debugger import CLOCK, breakpoints
from local.function_log import FunctionLog
from local.runtime_api import Invocation, RuntimeApi
from local.tracebacks import own_places

LAMBDA = Path(__file__).parent.parent / "lambda"
OWN = LAMBDA / "my_agent"  # the user's


@dataclass(frozen=True)
class LambdaContext:
    """What Lambda hands to a handler beside the event, as far as Python handlers use it."""

    deadline: float  # by time.monotonic()
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    function_name: str = "agent-local"
    function_version: str = "$LATEST"
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:123456789012:function:agent-local"
    memory_limit_in_mb: int = 1024
    log_group_name: str = "/aws/lambda/agent-local"
    log_stream_name: str = "local"
    identity: None = None
    client_context: None = None

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda would end the function."""
        return max(0, int((self.deadline - time.monotonic()) * 1000))


Handler = Callable[[Any, LambdaContext], Any]


@contextlib.contextmanager
def importable(root: Path = LAMBDA) -> Iterator[None]:
    """Within the context, the modules of `root` can be imported as the function imports them; no .pyc is written."""
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(root))
    try:
        _start_the_clock(root)
        yield
    finally:
        sys.path.remove(str(root))
        sys.dont_write_bytecode = writes_bytecode


# moto takes calls one at a time, and the function gives its table up after a second: more at once would be refused.
_AT_ONCE = 20


class LocalFunction:
    """`handler.lambda_handler` of `root`, loaded at the first event: the environment must be set by then.

    `on_record` is told of each log record of the function. Its log goes to stderr: all of it as it is with `show_logs`, else
    what went wrong, as lines to read. `close` (or leaving the context) gives the logger and the modules back as they were.
    """

    def __init__(
        self,
        root: Path = LAMBDA,
        *,
        timeout_seconds: float = 120.0,
        on_record: Callable[[logging.LogRecord], None] | None = None,
        show_logs: bool = False,
        runtime: RuntimeApi | None = None,
    ) -> None:
        self._root = root
        self._was_importable = str(root) in sys.path
        self.timeout_seconds = timeout_seconds
        self._log = FunctionLog(root, on_record, raw=show_logs)
        self._runtime = runtime
        self._lock = threading.Lock()
        self._room = threading.Semaphore(_AT_ONCE)
        self._running = 0
        self._around = contextlib.ExitStack()
        self._seen: dict[Path, int] | None = None
        self._handler: Handler = _refusal(RuntimeError("nothing is loaded yet"))
        self._modules_before = {name: module for name, module in sys.modules.items() if name == "handler"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Undo what loading the function did to this process."""
        self._log.detach()
        if self._seen is not None:
            sys.modules.pop("handler", None)
            sys.modules.update(self._modules_before)
        if not self._was_importable:
            with contextlib.suppress(ValueError):
                sys.path.remove(str(self._root))

    def invoke(self, event: Any, on_chunk: Callable[[bytes], object] = lambda chunk: None) -> tuple[Any, bool]:
        """The function's result and True, or Lambda's error object (errorType, errorMessage) and False.

        With a Runtime API answers may be streamed there: `on_chunk` is told of their chunks. The result is what a gateway makes
        of them that doesn't stream. Several events may be answered at once.
        """
        with self._entered():
            context = LambdaContext(deadline=time.monotonic() + self.timeout_seconds)
            invocation = Invocation(b"", 0, on_chunk, request_id=context.aws_request_id)
            if self._runtime:
                self._runtime.expect(invocation)
            try:
                # Through JSON both ways, as on Lambda.
                result = json.loads(json.dumps(self._handler(json.loads(json.dumps(event)), context)))
                succeeded = True
            except Exception as error:  # noqa: BLE001 - Lambda turns whatever a handler raises into such an object
                result, succeeded = _failure(error), False
            if not self._runtime or self._runtime.take(context.aws_request_id):
                return result, succeeded
            return invocation.whole()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        """Within the context the function is loaded, and stdout belongs to the commands."""
        self._room.acquire()
        with self._lock:
            if not self._running:
                self._around.enter_context(breakpoints())
                self._around.enter_context(contextlib.redirect_stdout(sys.stderr))
                try:
                    self._load_if_changed()
                except Exception as error:  # noqa: BLE001 - whatever a file of lambda/ does wrong is for its writer to read
                    print(own_places(traceback.format_exc(), self._root), file=sys.stderr)
                    self._handler = _refusal(error)
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._around.close()
            self._room.release()

    def _load_if_changed(self) -> None:
        files = {
            path: path.stat().st_mtime_ns for kind in ("*.py", "*.md", "*.toml") for path in self._root.rglob(kind)
        }
        if files == self._seen:
            return
        again, self._seen = self._seen is not None, files
        self._log.attach(os.environ.get("POWERTOOLS_SERVICE_NAME", "service_undefined"))
        self._log.begin_loading()
        cause = None
        try:
            module = _load(self._root, again)
            self._handler, cause = module.lambda_handler, _why_not_built(module)
        finally:
            self._log.end_loading(cause)
        if again:
            print("lambda/ has changed: loaded again", file=sys.stderr)


def _load(root: Path, again: bool) -> ModuleType:
    """Import handler.py anew; with `again` all modules of root, so that a change anywhere counts."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    for name, module in list(sys.modules.items()):
        if name == "handler" or (again and _lies_in(module, root)):
            del sys.modules[name]
    importlib.invalidate_caches()
    # No .pyc: lambda/ is what gets deployed, and a .pyc misses a change within the same second.
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        _start_the_clock(root)
        return importlib.import_module("handler")
    finally:
        sys.dont_write_bytecode = writes_bytecode


def _start_the_clock(root: Path) -> None:
    """Load the engine's time so that it stands still while a debugger asks: it takes the clock that it finds."""
    if (root / "agent" / "deadline.py").is_file():
        before = time.monotonic
        try:
            vars(time)["monotonic"] = CLOCK
            importlib.import_module("agent.deadline")
        finally:
            vars(time)["monotonic"] = before


def _why_not_built(module: ModuleType) -> BaseException | None:
    """The foreign error by which a tool's module, or whatever else the handler builds, failed; None where there is none."""
    entrance = getattr(getattr(module, "_FUNCTION", None), "entrance", None)
    failure: BaseException | None = getattr(entrance, "failure", None)
    return failure.__cause__ if failure else None


def _lies_in(module: ModuleType, root: Path) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and Path(str(file)).is_relative_to(root)


def _refusal(cause: Exception) -> Handler:
    """Answers every event with why the function could not be loaded, until its files change."""

    def refuse(_event: Any, _context: LambdaContext) -> Any:
        raise cause

    return refuse


def _failure(error: Exception) -> dict[str, str]:
    return {"errorMessage": str(error), "errorType": type(error).__name__}
