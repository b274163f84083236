"""What a model would refuse at every turn is told at start; what no rule speaks of is sent as it is."""

import json
from typing import Any

import pytest

from agent.adapters.bedrock.model import Inference
from agent.errors import MisconfiguredError
from agent.messages import user_text
from agent.ports import ModelRequest
from agent.settings import Settings
from tests.fakes import CLAUDE, NOVA, wire_body

BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 2048}}
ADAPTIVE = {"thinking": {"type": "adaptive"}}
NOVA_2 = "us.amazon.nova-2-lite-v1:0"


def effort(value: Any, kind: str = "enabled") -> dict[str, Any]:
    return {"reasoningConfig": {"type": kind, "maxReasoningEffort": value}}


def read(fields: dict[str, Any], *model_ids: str, **more: str) -> Settings:
    environment = {"MODEL_ID": model_ids[0], "FALLBACK_MODEL_IDS": ",".join(model_ids[1:]), "TABLE_NAME": "t"}
    return Settings.from_environment({**environment, "MODEL_REQUEST_FIELDS": json.dumps(fields), **more})


@pytest.mark.parametrize(
    ("fields", "model_ids", "words"),
    [
        (BUDGET, ["us.anthropic.claude-opus-4-7"], ["enabled", "claude-opus-4-7", '{"type": "adaptive"}']),
        (
            BUDGET,
            [CLAUDE, "global.anthropic.claude-opus-4-8-20260601-v1:0"],
            ["enabled", "claude-opus-4-8", "adaptive"],
        ),
        (BUDGET, ["anthropic.claude-fable-5"], ["claude-fable-5", "adaptive"]),
        (BUDGET, ["anthropic.claude-mythos-5"], ["claude-mythos-5", "adaptive"]),
        (BUDGET, ["claude-opus-4.7"], ["claude-opus-4.7", "adaptive"]),
        (ADAPTIVE, [CLAUDE], ["adaptive", CLAUDE, "budget_tokens"]),
        (ADAPTIVE, ["us.anthropic.claude-opus-4-6-v1", CLAUDE], [CLAUDE, "budget_tokens"]),
        (effort("max"), [NOVA_2], ["maxReasoningEffort", "'max'", "low, medium, high"]),
        (effort(None), [NOVA, NOVA_2], [NOVA_2]),
    ],
)
def test_fields_that_one_of_the_models_refuses_are_told_in_one_sentence(
    fields: dict[str, Any], model_ids: list[str], words: list[str]
) -> None:
    with pytest.raises(MisconfiguredError) as caught:
        read(fields, *model_ids)
    assert caught.value.detail.startswith("MODEL_REQUEST_FIELDS asks for")
    assert all(word in caught.value.detail for word in words)


@pytest.mark.parametrize(
    ("fields", "model_ids"),
    [
        (BUDGET, [CLAUDE, "us.anthropic.claude-opus-4-6-v1", "us.anthropic.claude-3-7-sonnet-20250219-v1:0", NOVA]),
        (ADAPTIVE, ["us.anthropic.claude-opus-4-7", "us.anthropic.claude-sonnet-4-6", NOVA]),
        (effort("low"), [NOVA_2]),
        (effort("anything", "disabled"), [NOVA_2]),
        (effort("anything"), [NOVA]),
        ({"something_new": 1}, ["us.anthropic.claude-opus-4-7", NOVA_2]),
    ],
)
def test_other_fields_are_sent_as_they_are(fields: dict[str, Any], model_ids: list[str]) -> None:
    assert read(fields, *model_ids).model_request_fields == fields


@pytest.mark.parametrize(
    ("model_id", "fields", "sent"),
    [
        (NOVA_2, effort("high"), set()),
        (NOVA_2, effort("medium"), {"maxTokens", "temperature"}),
        (NOVA_2, effort("high", "disabled"), {"maxTokens", "temperature"}),
        (NOVA, effort("high"), {"maxTokens", "temperature"}),
    ],
)
def test_nova_2_with_high_effort_gets_neither_a_length_nor_a_temperature(
    model_id: str, fields: dict[str, Any], sent: set[str]
) -> None:
    request = ModelRequest("", [user_text("hi")], [])
    body = wire_body(request, model_id, Inference(1024, temperature=0.5, request_fields=fields))
    assert body.get("inferenceConfig", {}).keys() == sent
    assert body["additionalModelRequestFields"] == fields
