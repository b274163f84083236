"""Events from files or standard input, sent to the function as they are."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from local.problem import ProblemError
from local.screen import failed
from local.stack import Stack


def read_event(path: Path) -> Any:
    """The JSON of a file, or of standard input for `-`. Raises ProblemError where it can't be read or is none."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
        return json.loads(text)
    except OSError as error:
        raise ProblemError(f"The event {path} can't be read: {error.strerror}.") from error
    except ValueError as error:
        raise ProblemError(f"The event {path} is no JSON: {error}.") from error


def run_events(stack: Stack, events: Iterable[Any]) -> int:
    """Send events in order and print each result as JSON. Returns how many failed."""
    failures = 0
    for event in events:
        result, succeeded = stack.function.invoke(event)
        print(json.dumps(result, ensure_ascii=False, indent=2))
        failures += failed(result, succeeded)
    return failures
