"""Whatever a model says and however it fails: streamed or not, a turn is answered and stored the same, to the letter."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agent.errors import AgentError
from local.bedrock.script import ScriptedModel
from tests.agent.edge.whole_function import Whole, function_at, running, unique

TOOL = {"name": "sine", "input": {"x": 1}}
SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "an answer": [{"text": "The sine of 1 is 0.84."}],
    "an empty delta": [{"content": [{"text": ""}, {"text": "Fine."}]}],
    "several texts": [{"content": [{"text": "One."}, {"text": " "}, {"text": "Two."}]}],
    "thoughts": [{"reasoning": "Let me think of it.", "text": "Fine."}, {"text": "no"}],
    "thinking tags": [{"text": "<thinking>Let me think.</thinking>\n\nFine."}],
    "a tool": [{"text": "Let me see.", "tool_use": TOOL}, {"text": "It is said."}],
    "several tools": [{"tool_use": [TOOL, {"name": "nosuch", "input": {"a": [1, None]}}, TOOL]}, {"text": "Done."}],
    "a tool use cut in the middle": [
        {
            "content": [{"toolUse": {"toolUseId": "a", "name": "sine", "input": '{"x": 1.'}}],
            "stop_reason": "max_tokens",
        }
    ],
    "an input that is no object": [{"tool_use": {"name": "sine", "input": "all of it"}}, {"text": "Done."}],
    "an empty answer, then another": [{"text": ""}, {"text": "Better."}],
    "malformed, then another": [{"text": "hal", "stop_reason": "malformed_model_output"}, {"text": "Better."}],
    "a guardrail": [{"text": "Blocked.", "stop_reason": "guardrail_intervened"}],
    "cut off": [{"text": "It is", "stop_reason": "max_tokens"}],
    "an unknown end": [{"text": "It is", "stop_reason": "something_new"}],
    "surrogates": [{"text": "a\ud83d"}],
    "throttled, then an answer": [{"error": "ThrottlingException"}, {"text": "Fine."}],
    "an exception in the stream, then an answer": [
        {"error": "ServiceUnavailableException", "in_stream": True, "text": "Half an ans"},
        {"text": "Fine."},
    ],
    "the connection is cut in the middle, then an answer": [
        {"drop": "middle", "text": "Half of it"},
        {"text": "Fine."},
    ],
    "a model error": [{"error": "ModelErrorException", "in_stream": True, "text": "Half an ans"}],
    "refused": [{"error": "ValidationException", "message": "no"}],
    "garbage, then an answer": [{"garbage": True}, {"text": "Fine."}],
    "garbage for ever": [{"garbage": True}] * 3,
    "redacted thoughts": [{"content": [{"reasoningContent": {"redactedContent": "AAEC"}}, {"text": "Fine."}]}],
    "a block of an unknown kind": [{"content": [{"audio": {"x": 1}}, {"text": "Fine."}]}],
}


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Whole, Whole]]:
    """One function as it is, and one that streams, over the same model and table."""
    with running() as whole:
        assert whole.runtime
        environment = {"STREAMING": "true", "AWS_LAMBDA_RUNTIME_API": whole.runtime.address}
        function = function_at(whole.server, **environment)
        yield whole, Whole(function, whole.server, whole.dynamodb, whole._model, whole.runtime, streams=True)


def outcome(whole: Whole, script: list[dict[str, Any]]) -> tuple[Any, Any, ScriptedModel, list[bool]]:
    """Answer or error code, what is stored, without what differs between any two turns, and how the model was called."""
    session = unique()
    whole.begin()
    model = whole.play(*script)
    answer: Any
    try:
        answer = whole.direct(session_id=session, request_id="the-request")
    except AgentError as error:
        answer = (error.code, error.message)
    return _without(answer, session), _without(whole.items(session), session), model, [r.stream for r in whole.requests]


def _without(value: Any, session: str) -> Any:
    if isinstance(value, dict):
        volatile = ("milliseconds", "lease_id", "lease_until", "created_at", "expires_at")
        return {key: _without(item, session) for key, item in value.items() if key not in volatile}
    if isinstance(value, list):
        return [_without(item, session) for item in value]
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return _without(json.loads(value), session)
        except ValueError:
            pass
    return value.replace(session, "<session>") if isinstance(value, str) else value


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_turn_is_answered_and_stored_the_same_streamed_or_not(both: tuple[Whole, Whole], name: str) -> None:
    plain, streamed = (outcome(whole, SCRIPTS[name]) for whole in both)
    assert streamed[0] == plain[0]
    assert streamed[1] == plain[1]
    assert streamed[2].left == plain[2].left
    assert (set(plain[3]), set(streamed[3])) == ({False}, {True})
    # the session is usable
    for whole in both:
        whole.play({"text": "Fine."})
        assert whole.direct()["answer"] == "Fine."
