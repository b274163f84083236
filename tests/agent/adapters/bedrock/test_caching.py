"""Cache points: where each family takes them, never more than four, and no rule broken."""

from typing import Any

import pytest

from agent.adapters.bedrock.caching import has_caching, with_cache_points
from agent.messages import assistant_text, user_text
from local.bedrock.rules import violations
from tests.fakes import LLAMA, MISTRAL, NOVA, use

_CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
_POINT = {"cachePoint": {"type": "default"}}
_RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "3"}], "status": "success"}}


def _request(*messages: Any) -> dict[str, Any]:
    schema = {"json": {"type": "object", "properties": {}}}
    return {
        "system": [{"text": "Be brief."}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": schema}}]},
        "messages": list(messages),
    }


LONG_TURN = _request(
    user_text("earlier"),
    assistant_text("answer"),
    user_text("question"),
    {"role": "assistant", "content": [use("t1", "look")]},
    {"role": "user", "content": [_RESULT]},
)


def _points(request: dict[str, Any]) -> list[str]:
    places = ["tools"] * request["toolConfig"]["tools"].count(_POINT) + ["system"] * request["system"].count(_POINT)
    return places + [
        f"message {n}" for n, m in enumerate(request["messages"]) for _ in range(m["content"].count(_POINT))
    ]


def test_claude_caches_tools_system_question_and_the_latest_results() -> None:
    cached = with_cache_points(LONG_TURN, _CLAUDE)
    assert _points(cached) == ["tools", "system", "message 2", "message 4"]
    assert [found for found in violations(_CLAUDE, cached) if found.level == "error"] == []


def test_nova_caches_all_but_the_tools() -> None:
    cached = with_cache_points(LONG_TURN, NOVA)
    assert _points(cached) == ["system", "message 2", "message 4"]
    assert [found for found in violations(NOVA, cached) if found.level == "error"] == []


def test_the_first_call_of_a_turn_has_one_point_in_its_messages() -> None:
    assert _points(with_cache_points(_request(user_text("question")), _CLAUDE)) == ["tools", "system", "message 0"]


@pytest.mark.parametrize("model_id", [LLAMA, MISTRAL, "anthropic.claude-3-haiku-20240307-v1:0", "local.offline-v1"])
def test_a_model_without_caching_is_sent_what_it_always_was(model_id: str) -> None:
    assert not has_caching(model_id)
    assert with_cache_points(LONG_TURN, model_id) == LONG_TURN


def test_the_request_itself_is_not_changed() -> None:
    before = str(LONG_TURN)
    with_cache_points(LONG_TURN, _CLAUDE)
    assert str(LONG_TURN) == before
