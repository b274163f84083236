"""Subsegments for X-Ray: the turn, each model call, each tool use. Without an SDK, which would cost a cold start.

They go to Lambda's daemon by UDP ("X-Ray segment documents" and "Sending trace data to X-Ray" in its Developer Guide), named
by the GenAI conventions, and hold nothing that was said. Nothing is made where Lambda doesn't sample, nor where tracing is off: a
caller's own trace comes along even then.
"""

import secrets
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from agent.deadline import Deadline
from agent.errors import AgentError, ModelThrottledError
from agent.ports import Model, ModelReply, ModelRequest, TextListener

_HEADER = b'{"format": "json", "version": 1}\n'
_LONGEST_NAME = 200
# what can be searched for, under names without dots: of the turn all, of its parts the latter; X-Ray takes 50 a trace
_SEARCHED = ("session_id", "turn", "request_id", "error.type", "gen_ai.request.model", "gen_ai.tool.name")


class Traces:
    """The trace of the invocation under way, as Lambda's environment names it; a process has one at a time."""

    def __init__(self, environment: Mapping[str, str], clock: Callable[[], float] = time.time) -> None:
        self._environment, self._clock = environment, clock
        self.begin()

    def begin(self) -> None:
        """A new invocation, and what will be its turn."""
        parts = (part.partition("=") for part in self._environment.get("_X_AMZN_TRACE_ID", "").split(";"))
        self._header = {name: value for name, _, value in parts}
        self._turn, self._began = secrets.token_hex(8), self._clock()
        self._model_ended = 0.0

    def turn(self, service: str, fields: Mapping[str, Any], problem: str = "") -> None:
        """The invocation's turn, which ends now; `problem` is "", or X-Ray's error (the caller's), fault or throttle."""
        own = {"id": self._turn, "parent_id": self._header.get("Parent", "")}
        self._send(f"invoke_agent {service}", self._began, self._clock(), fields, problem, own)

    def tool_use(self, name: str, seconds: float, fields: Mapping[str, Any], problem: str) -> None:
        """A tool use. Those of a step begin together, when the model has ended, and are told when the last one has."""
        began = self._model_ended or self._clock() - seconds
        self._send(f"execute_tool {name}", began, began + seconds, fields, problem)

    def model_call(self, model: Model, request: ModelRequest, *more: Any) -> ModelReply:
        """Calls the model and tells of it. Raises what the model raises."""
        began, problem = self._clock(), "fault"
        fields: dict[str, Any] = {"gen_ai.operation.name": "chat"}
        fields["gen_ai.request.model"] = shown = model.model_id.rpartition("/")[2]
        try:
            reply = model.converse(request, *more)
            usage, problem = reply.usage, ""
            fields |= {
                "gen_ai.usage.input_tokens": usage.input_tokens,
                "gen_ai.usage.output_tokens": usage.output_tokens,
            }
            fields["gen_ai.response.finish_reasons"] = [reply.stop_reason]
            return reply
        except AgentError as error:
            fields["error.type"] = error.code
            problem = "throttle" if isinstance(error, ModelThrottledError) else problem
            raise
        finally:
            self._model_ended = self._clock()
            self._send(f"chat {shown}", began, self._model_ended, fields, problem)

    def _send(
        self, name: str, began: float, ended: float, fields: Mapping[str, Any], problem: str, own: Any = ()
    ) -> None:
        host, _, port = self._environment.get("AWS_XRAY_DAEMON_ADDRESS", "").rpartition(":")
        off = self._environment.get("POWERTOOLS_TRACE_DISABLED", "").lower() in ("true", "1")
        if off or self._header.get("Sampled") != "1" or not port.isdigit():
            return
        document = {"id": secrets.token_hex(8), "parent_id": self._turn, **dict(own), "type": "subsegment"}
        document |= {"trace_id": self._header.get("Root", ""), "name": name[:_LONGEST_NAME]}
        document |= {"start_time": began, "end_time": ended, "metadata": {"gen_ai": dict(fields)}}
        document |= {problem: True} if problem else {}
        document["annotations"] = {
            n.replace(".", "_"): fields[n] for n in _SEARCHED if n in fields and (own or "." in n)
        }
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
                sending.sendto(_HEADER + msgspec.json.encode(document), (host, int(port)))
        except OSError:
            # a trace that can't be sent must not disturb the turn that it is of
            return


class TracedModel:
    """The Model port over another model, each of whose calls is told."""

    def __init__(self, model: Model, traces: Traces) -> None:
        self.model_id, self._model, self._traces = model.model_id, model, traces

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        """One answer; see the Model port for what it raises."""
        return self._traces.model_call(self._model, request, deadline, listener)
