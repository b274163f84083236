"""Traces: what X-Ray's daemon beside the function is sent, and that it is sent nothing where Lambda doesn't sample."""

import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from agent.adapters.traces import Traces
from tests.agent.edge.gateway_events import http_api
from tests.agent.edge.whole_function import Whole, function_at, running, unique
from tests.fakes import CLAUDE, FakeContext

ROOT, PARENT = "1-5759e988-bd862e3fe1be46a994272793", "53995c3f42cd8ad8"
HEADER = f"Root={ROOT};Parent={PARENT};Sampled={{}};Lineage=1:a87bd80c:0"
USES = {"tool_use": [{"name": "sine", "input": {"x": 1}}, {"name": "nowhere", "input": {}}], "text": "Let me see."}


class Daemon:
    """A stand-in for X-Ray's daemon: UDP on this machine."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        # What was sent on this machine is there at once.
        self.socket.setblocking(False)
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"

    def received(self) -> list[dict[str, Any]]:
        """All documents that came, each of the form that X-Ray takes."""
        found: list[dict[str, Any]] = []
        while True:
            try:
                header, _, document = self.socket.recvfrom(65_536)[0].partition(b"\n")
            except BlockingIOError:
                return found
            assert json.loads(header) == {"format": "json", "version": 1}
            found.append(judged(json.loads(document)))


def judged(document: dict[str, Any]) -> dict[str, Any]:
    """The document, if it keeps the rules of "X-Ray segment documents"."""
    assert re.fullmatch(r"[\w .:/%&#=+\\@-]{1,200}", document["name"])
    assert re.fullmatch("[0-9a-f]{16}", document["id"])
    assert re.fullmatch("[0-9a-f]{16}", document["parent_id"])
    assert re.fullmatch("1-[0-9a-f]{8}-[0-9a-f]{24}", document["trace_id"])
    assert document["type"] == "subsegment"
    assert document["start_time"] <= document["end_time"]
    assert all(re.fullmatch("[A-Za-z0-9_]+", key) for key in document["annotations"])
    assert all(isinstance(value, str | int | float | bool) for value in document["annotations"].values())
    return document


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    made = Daemon()
    with made.socket:
        yield made


@pytest.fixture(scope="module")
def one_function(daemon: Daemon) -> Iterator[Whole]:
    with running(_X_AMZN_TRACE_ID=HEADER.format(1), AWS_XRAY_DAEMON_ADDRESS=daemon.address) as whole:
        yield whole


def test_a_turn_its_model_calls_and_its_tool_uses_are_told_in_one_tree(whole: Whole, daemon: Daemon) -> None:
    whole.play(USES, {"text": "Forty-two."})
    session = unique()
    whole.direct("What is the answer?", session_id=session)
    documents = daemon.received()
    by_name = {document["name"]: document for document in documents}
    turn = by_name["invoke_agent agent"]
    assert (turn["trace_id"], turn["parent_id"]) == (ROOT, PARENT)
    below = [document for document in documents if document is not turn]
    assert sorted(document["name"] for document in below) == sorted(
        [f"chat {CLAUDE}"] * 2 + ["execute_tool sine", "execute_tool nowhere"]
    )
    for document in below:
        assert (document["trace_id"], document["parent_id"]) == (ROOT, turn["id"])
        assert turn["start_time"] <= document["start_time"]
        assert document["end_time"] <= turn["end_time"] + 0.01
    assert turn["annotations"]["session_id"] == session
    # X-Ray indexes 50 of a trace ("X-Ray segment documents").
    assert all(len(document["annotations"]) <= 2 for document in below)
    assert turn["metadata"]["gen_ai"]["gen_ai.operation.name"] == "invoke_agent"
    first, _ = [document for document in below if document["name"].startswith("chat")]
    assert first["metadata"]["gen_ai"]["gen_ai.response.finish_reasons"] == ["tool_use"]
    assert by_name["execute_tool nowhere"]["fault"] is True
    # Those of one step begin when the model has ended.
    assert by_name["execute_tool nowhere"]["start_time"] == first["end_time"]


def test_nothing_that_was_said_is_traced(whole: Whole, daemon: Daemon) -> None:
    whole.play({**USES, "text": "MARKER"}, {"text": "MARKER"})
    whole.direct("MARKER", session_id=unique())
    assert "MARKER" not in json.dumps(daemon.received())


@pytest.mark.parametrize(
    ("entry", "event", "problem", "code"),
    [
        ({"error": "ThrottlingException"}, {"question": "hi"}, "throttle", "model_throttled"),
        (
            {"error": "AccessDeniedException", "message": "arn:aws:x"},
            http_api(body={"question": "hi"}),
            "fault",
            "misconfigured",
        ),
    ],
)
def test_a_failure_is_told_of_the_model_call_and_of_the_turn(
    whole: Whole, daemon: Daemon, entry: dict[str, Any], event: dict[str, Any], problem: str, code: str
) -> None:
    whole.play(*[entry] * 4)
    whole.ask(event)
    call, turn = daemon.received()
    assert call["name"].startswith("chat")
    assert call[problem] is True
    assert turn["fault"] is True
    assert {call["annotations"]["error_type"], turn["annotations"]["error_type"]} == {code}
    assert "arn:" not in json.dumps([call, turn])


def test_a_mistake_of_the_caller_is_no_fault(whole: Whole, daemon: Daemon) -> None:
    whole.ask({"question": 5})
    [turn] = daemon.received()
    assert turn["error"] is True
    assert "fault" not in turn


def test_each_invocation_has_the_trace_that_lambda_gives_it(daemon: Daemon) -> None:
    environment = {"_X_AMZN_TRACE_ID": HEADER.format(1), "AWS_XRAY_DAEMON_ADDRESS": daemon.address}
    traces = Traces(environment)
    traces.turn("agent", {})
    environment["_X_AMZN_TRACE_ID"] = HEADER.format(1).replace(ROOT, ROOT.replace("5759", "6868"))
    traces.begin()
    traces.turn("agent", {})
    first, second = daemon.received()
    assert (first["trace_id"], second["trace_id"]) == (ROOT, ROOT.replace("5759", "6868"))
    assert first["id"] != second["id"]


@pytest.mark.parametrize(
    "environment",
    [
        {"_X_AMZN_TRACE_ID": HEADER.format(1), "POWERTOOLS_TRACE_DISABLED": "true"},
        {"_X_AMZN_TRACE_ID": HEADER.format(0)},
        {},
        {"_X_AMZN_TRACE_ID": "odd"},
        {"_X_AMZN_TRACE_ID": f"Root={ROOT}"},
    ],
)
def test_nothing_is_sent_where_lambda_does_not_sample_or_tracing_is_off(
    whole: Whole, daemon: Daemon, environment: dict[str, str]
) -> None:
    function = function_at(whole.server, **environment, AWS_XRAY_DAEMON_ADDRESS=daemon.address)
    answer, _ = function.answer({"question": "hi", "session_id": unique()}, FakeContext(unique()))
    assert answer is not None
    assert not daemon.received()


def test_a_daemon_that_cannot_be_reached_disturbs_no_turn(whole: Whole) -> None:
    for address in ("256.0.0.1:2000", "127.0.0.1:1", "nowhere", ""):
        function = function_at(whole.server, _X_AMZN_TRACE_ID=HEADER.format(1), AWS_XRAY_DAEMON_ADDRESS=address)
        answer, error = function.answer({"question": "hi", "session_id": unique()}, FakeContext(unique()))
        assert error is None
        assert answer is not None


def test_bedrocks_own_log_of_calls_can_be_joined_with_ours_by_session_and_turn(whole: Whole) -> None:
    session = unique()
    whole.play({"text": "One."}, {"text": "Two."})
    whole.direct(session_id=session)
    whole.direct(session_id=session)
    assert [request.body["requestMetadata"] for request in whole.requests] == [
        {"session": session, "turn": "1"},
        {"session": session, "turn": "2"},
    ]
