"""A turn that goes on elsewhere: with a second model without the reasoning of the first, after a person's yes with all of it."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

import agent.deadline
from agent.tooling.tool import tool
from local.bedrock.reply import Reply, error_reply, reasoning_block, text_reply
from tests.agent.edge.whole_function import Whole, unique
from tests.cases.functions import function_over, offering
from tests.fakes import CLAUDE, NOVA, use

TROUBLE = [
    ("ThrottlingException", 429),
    ("ServiceUnavailableException", 503),
    ("InternalServerException", 500),
    ("ModelErrorException", 424),
    ("ModelNotReadyException", 429),
]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts are not waited for."""
    monkeypatch.setattr(agent.deadline, "time", SimpleNamespace(sleep=lambda seconds: None))


def ask(function: Any, session: str, question: str = "hi") -> tuple[Any, Any]:
    answer, error = function.answer({"question": question, "session_id": session}, None)
    return answer, error


@pytest.mark.parametrize(("code", "status"), TROUBLE)
def test_the_turn_goes_on_with_the_next_model_without_the_others_reasoning(
    whole: Whole, code: str, status: int
) -> None:
    function, session, use_id = function_over(whole.server.url, FALLBACK_MODEL_IDS=NOVA), unique(), unique("call")
    seen: list[str] = []

    def models(model_id: str, request: dict[str, Any]) -> Reply:
        seen.append(model_id)
        results = json.dumps(request["messages"]).count("toolResult")
        if model_id == NOVA:
            return Reply([use(f"{use_id}-2", "cosine", {"x": 1})], "tool_use") if results < 4 else text_reply("done")
        if not results:
            return Reply([reasoning_block("plan"), use(use_id, "sine", {"x": 1})], "tool_use")
        return error_reply(code, status, "no")

    whole.answer_with(models)
    answer, error = ask(function, session)
    assert error is None
    assert (answer["answer"], answer["model_id"]) == ("done", NOVA)
    assert seen[0] == CLAUDE
    assert seen == [CLAUDE] * seen.count(CLAUDE) + [NOVA] * seen.count(NOVA)
    for request in whole.requests:
        if request.model_id == NOVA:
            assert "reasoningContent" not in json.dumps(request.body)
    whole.answer_with(lambda model_id, request: text_reply("again"))
    assert ask(function, session, "next")[0]["model_id"] == CLAUDE


def test_a_request_that_is_refused_or_denied_is_no_reason_for_another_model(whole: Whole) -> None:
    function = function_over(whole.server.url, FALLBACK_MODEL_IDS=NOVA)
    whole.play(*[{"error": "AccessDeniedException", "status": 403, "message": "no"}] * 2)
    _, error = ask(function, unique())
    assert error.code == "misconfigured"
    assert {request.model_id for request in whole.requests} == {CLAUDE}


def test_when_no_model_answers_the_last_ones_failure_is_told_and_nothing_is_kept(whole: Whole) -> None:
    function, session = function_over(whole.server.url, FALLBACK_MODEL_IDS=NOVA), unique()
    whole.answer_with(lambda model_id, request: error_reply("ThrottlingException", 429, "no"))
    _, error = ask(function, session)
    assert error.code == "model_throttled"
    assert {request.model_id for request in whole.requests} == {CLAUDE, NOVA}
    assert len(whole.requests) <= 6
    assert whole.items(session) == []


def test_reasoning_waits_unchanged_for_a_persons_yes(whole: Whole) -> None:
    @tool(needs_approval=True)
    def pay(to: str) -> str:
        """Pay."""
        return f"paid {to}"

    session, use_id = unique(), unique("call")
    asked = [reasoning_block("plan"), {"text": "May I?"}, use(use_id, "pay", {"to": "bob"})]
    with offering(whole, pay):
        whole.play(text_reply("hello"), Reply(asked, "tool_use"), text_reply("done"), text_reply("later"))
        whole.direct(session_id=session)
        waiting = whole.direct("pay bob", session_id=session)
        assert waiting["stop_reason"] == "awaiting_approval"
        yes = {each["approval_id"]: True for each in waiting["approvals"]}
        answer, error = whole.ask({"session_id": session, "approvals": yes})
        assert error is None
        assert answer["answer"] == "done"
        assert whole.requests[-1].body["messages"][3]["content"] == asked
        assert whole.direct("next", session_id=session)["answer"] == "later"
