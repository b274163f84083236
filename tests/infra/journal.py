"""What the function's journal writes, told by running it: its metrics with their dimensions, and the fields of its lines."""

import contextlib
import io
import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools import Logger, Metrics

from agent.adapters.journal import PowertoolsJournal
from agent.errors import ModelThrottledError
from agent.ports import ToolRecord

# Namespace, name and dimensions of a metric.
Metric = tuple[str, str, frozenset[tuple[str, str]]]
RECORD = ToolRecord("t1", "fortune", "error", 3, {}, {"toolResult": {"content": []}}, "KeyError", KeyError("osaka"))


def lines(environment: Mapping[str, str], tell: Callable[[PowertoolsJournal], None]) -> list[dict[str, Any]]:
    """The lines that a journal writes, set up as the handler does from a function's environment."""
    namespace, service = environment["POWERTOOLS_METRICS_NAMESPACE"], environment["POWERTOOLS_SERVICE_NAME"]
    with contextlib.redirect_stdout(io.StringIO()) as written:
        logger = Logger(service=f"{service}-{uuid.uuid4()}", stream=written)
        tell(PowertoolsJournal(logger, Metrics(service=service, namespace=namespace), log_content=False))
    return [json.loads(line) for line in written.getvalue().splitlines()]


def metrics_of(written: list[dict[str, Any]]) -> dict[Metric, float]:
    """The metrics in EMF lines, each added up over all of them."""
    found: dict[Metric, float] = {}
    for line in written:
        for directive in line.get("_aws", {}).get("CloudWatchMetrics", []):
            [names] = directive["Dimensions"]
            dimensions = frozenset((name, line[name]) for name in names)
            for metric in directive["Metrics"]:
                key = (directive["Namespace"], metric["Name"], dimensions)
                found[key] = found.get(key, 0) + sum(line[metric["Name"]])
    return found


def answer(model_id: str) -> dict[str, Any]:
    """A turn's answer, as the journal is told of it."""
    counted = {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": 1, "cache_write_input_tokens": 1}
    uses = [{"name": "fortune", "status": "error", "milliseconds": 3}]
    told = {"answer": "Yes.", "session_id": "s", "turn": 1, "stop_reason": "end_turn", "steps": 2, "model_id": model_id}
    return {**told, "usage": counted, "tool_uses": uses}


def everything(model_id: str) -> Callable[[PowertoolsJournal], None]:
    """Tells a journal of all that there is to tell, with a model of that id."""

    def tell(journal: PowertoolsJournal) -> None:
        journal.begin("invocation")
        journal.turn(answer(model_id), "Why?", "r", "caller", 1.5)
        journal.tool_use("s", RECORD)
        journal.approval("s", "t1", "fortune", True, "")
        journal.failure(ModelThrottledError(detail="slow down"), model_id, "r", raised=True)

    return tell


def fields(message: str) -> set[str]:
    """Fields of the line with that message."""
    environment = {"POWERTOOLS_METRICS_NAMESPACE": "agent", "POWERTOOLS_SERVICE_NAME": "agent"}
    [line] = [line for line in lines(environment, everything("model")) if line.get("message") == message]
    return set(line)
