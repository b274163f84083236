"""Model ids of every kind and what they tell."""

from __future__ import annotations

import pytest

from local.bedrock.model_facts import model_facts
from tests.local.bedrock.converse_requests import CLAUDE, CLAUDE_47, LLAMA, MISTRAL, PROFILE, PROMPT


@pytest.mark.parametrize(
    ("model_id", "family", "version"),
    [
        (CLAUDE, "anthropic", (4, 5)),
        (CLAUDE_47, "anthropic", (4, 7)),
        ("anthropic.claude-opus-4-20250514-v1:0", "anthropic", (4, 0)),
        ("apac.anthropic.claude-3-5-sonnet-20241022-v2:0", "anthropic", (3, 5)),
        ("anthropic.claude-3-haiku-20240307-v1:0", "anthropic", (3, 0)),
        ("anthropic.claude-v2:1", "anthropic", (2, 0)),
        (f"arn:aws:bedrock:us-east-1:123456789012:inference-profile/{CLAUDE}", "anthropic", (4, 5)),
        ("global.amazon.nova-2-lite-v1:0", "nova", None),
        ("amazon.titan-text-express-v1", "other", None),
        (LLAMA, "meta", None),
        (MISTRAL, "mistral", None),
        (PROFILE, "unknown", None),
        (PROMPT, "unknown", None),
        ("offline", "unknown", None),
    ],
)
def test_a_model_id_tells_family_and_version(model_id: str, family: str, version: tuple[int, int] | None) -> None:
    facts = model_facts(model_id)
    assert (facts.family, facts.version) == (family, version)
