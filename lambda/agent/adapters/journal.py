"""Logs and metrics by Powertools: one JSON line a turn and one a tool use, which name the model, and metrics of the turn.

Field names follow the OpenTelemetry conventions for generative AI where there is one. What users, tools and the model said is
only logged where LOG_CONTENT says so.
"""

import re
import time
import traceback
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from agent.adapters.traces import Traces
from agent.errors import AgentError, ModelThrottledError
from agent.ports import ToolRecord

_CLIENT_ERRORS = (
    "invalid_request",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "payload_too_large",
    "session_busy",
)
# an ARN's account and region, and the name of whoever called, are no business of a log reader; what was asked for is
_ARN = re.compile(r"arn:[a-z-]+:([a-z0-9-]+):[a-z0-9-]*:(?:[0-9]*|aws):([^\s'\",]*)")
_KEY_ID = re.compile(r"\bA[KS]IA[A-Z0-9]{16}\b")
_TOKEN = re.compile(r"x-amz-security-token:\S+")  # stands in what AWS says of a wrong signature
_VALUE = re.compile(r"Value '.*?' at", re.DOTALL)  # and this in what it says of a wrong value
_TIMES = ("Duration", "TimeToFirstText")  # metrics in milliseconds
_ACCOUNT = re.compile(r"\b[0-9]{12}\b")


class PowertoolsJournal:
    """The Journal port, and the turn's own line and metrics."""

    def __init__(self, logger: Logger, metrics: Metrics, log_content: bool, traces: Traces | None = None) -> None:
        self._logger = logger
        self._traces = traces
        self._metrics = metrics
        self._log_content = log_content

    def tool_use(self, session_id: str, record: ToolRecord) -> None:
        """One line a tool use; a bug of a tool is an error with its trace, of which the text may hold what users said."""
        fields: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": record.name,
            "gen_ai.tool.call.id": record.tool_use_id,
            "status": record.status,
            "milliseconds": record.milliseconds,
            "session_id": session_id,
        }
        if record.error:
            fields["error.type"] = record.error
        if self._traces:
            self._traces.tool_use(record.name, record.milliseconds / 1000, fields, "fault" if record.error else "")
        if record.problem:
            places = traceback.format_tb(record.problem.__traceback__)
            fields["trace"] = "".join(traceback.format_exception(record.problem) if self._log_content else places)
        if self._log_content:
            fields |= {"input": record.input, "result": record.result["toolResult"]["content"]}
        (self._logger.error if record.problem else self._logger.info)("tool use", extra=fields)

    def approval(self, session_id: str, tool_use_id: str, tool: str, approved: bool, by: str) -> None:
        """One line a decision: who said yes or no to what."""
        fields = {"gen_ai.tool.name": tool, "gen_ai.tool.call.id": tool_use_id, "session_id": session_id}
        self._logger.info("approval", extra={**fields, "approved": approved, "by": by or "direct"})

    def warning(self, message: str, **fields: object) -> None:
        """Something went wrong that did not stop the turn."""
        told = {name: _masked(str(value)) for name, value in fields.items()}
        self._logger.warning(message, extra=told)

    def turn(
        self,
        answer: dict[str, Any],
        question: str,
        request_id: str,
        caller: str,
        seconds: float,
        first_text: float | None = None,
    ) -> None:
        """The line and the metrics of a turn that was run."""
        usage = answer["usage"]
        tool_errors = sum(use["status"] == "error" for use in answer["tool_uses"])
        fields: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": answer["model_id"],
            "gen_ai.response.finish_reasons": [answer["stop_reason"]],
            "gen_ai.usage.input_tokens": usage["input_tokens"],
            "gen_ai.usage.output_tokens": usage["output_tokens"],
            "gen_ai.usage.cache_read.input_tokens": usage["cache_read_input_tokens"],
            "gen_ai.usage.cache_creation.input_tokens": usage["cache_write_input_tokens"],
            "session_id": answer["session_id"],
            "turn": answer["turn"],
            "request_id": request_id,
            "caller": caller,
            "steps": answer["steps"],
            "tool_uses": len(answer["tool_uses"]),
            "tool_errors": tool_errors,
            "milliseconds": round(seconds * 1000),
            "saved": answer.get("saved", True),
        }
        streamed = {} if first_text is None else {"TimeToFirstText": first_text * 1000}
        if first_text is not None:
            fields["milliseconds_to_first_text"] = round(first_text * 1000)
        if self._traces:
            self._traces.turn(self._logger.service, {**fields, "gen_ai.operation.name": "invoke_agent"})
        if self._log_content:
            fields |= {"question": question, "answer": answer["answer"]}
        self._logger.info("turn", extra=fields)
        self._emit(
            Turns=1,
            Steps=answer["steps"],
            ToolUses=len(answer["tool_uses"]),
            ToolErrors=tool_errors,
            InputTokens=usage["input_tokens"],
            OutputTokens=usage["output_tokens"],
            CacheReadInputTokens=usage["cache_read_input_tokens"],
            CacheWriteInputTokens=usage["cache_write_input_tokens"],
            Duration=seconds * 1000,
            **streamed,
        )

    def begin(self, invocation: str) -> None:
        """Every line until the next invocation names this one, and every metric has its time, as Lambda's own metrics do.

        So an error that was raised on purpose counts in the same minute as in Lambda's `Errors` (Lambda Developer Guide, "Using
        CloudWatch metrics").
        """
        self._logger.append_keys(function_request_id=invocation)
        self._metrics.set_timestamp(round(time.time() * 1000))
        if self._traces:
            self._traces.begin()

    def failure(self, error: AgentError, model_id: str, request_id: str, *, raised: bool = False) -> None:
        """A request that was not answered: what the caller may know is in its message, what an operator needs in detail."""
        fields = {"error.type": error.code, "detail": _masked(error.detail), "request_id": request_id}
        fields["gen_ai.request.model"] = model_id.rpartition("/")[2] if model_id.startswith("arn:") else model_id
        told = {name: value for name, value in fields.items() if value}
        if self._traces and request_id:
            problem = "error" if error.code in _CLIENT_ERRORS else "fault"
            self._traces.turn(self._logger.service, {**told, "detail": ""}, problem)
        ours = error.code in ("internal", "misconfigured")
        (self._logger.error if ours else self._logger.warning)("request failed", extra=told)
        self._emit(
            Failures=int(error.code not in _CLIENT_ERRORS),
            ModelThrottled=int(isinstance(error, ModelThrottledError)),
            RaisedErrors=int(raised),
        )

    def _emit(self, **values: float) -> None:
        if not any(values.values()):
            return
        for name, value in values.items():
            self._metrics.add_metric(name, MetricUnit.Milliseconds if name in _TIMES else MetricUnit.Count, value)
        self._metrics.flush_metrics()
        self._metrics.clear_metrics()  # where metrics are disabled, flushing keeps them for ever


def _masked(text: str) -> str:
    text = _TOKEN.sub("x-amz-security-token:<token>", _VALUE.sub("Value '…' at", text))
    return _ACCOUNT.sub("<account>", _KEY_ID.sub("<key id>", _ARN.sub(r"<\1 \2>", text)))
