"""Rules of level warn: told, and not refused."""

from __future__ import annotations

import pytest

from tests.local.bedrock.converse_requests import (
    ANSWERED,
    CLAUDE,
    LLAMA,
    NOVA,
    Request,
    asking,
    assistant,
    broken,
    result,
    text,
    tool,
    use,
    user,
    warned,
    with_inference,
)


@pytest.mark.parametrize(
    ("rule", "model_id", "request_"),
    [
        ("U-RESULT-BLANK", CLAUDE, asking(*ANSWERED[:2], user(result("t1", text(""))))),
        ("U-STATUS-FAMILY", LLAMA, asking(*ANSWERED[:2], user(result("t1", status="success")))),
        ("U-USE-LAST", CLAUDE, asking(user(text("q")), assistant(use("t1"), text("so")), user(result("t1")))),
        ("U-SCHEMA-NOVA", NOVA, asking(toolConfig={"tools": [tool(additionalProperties=False)]})),
        ("U-HISTORY-TOOL", CLAUDE, asking(*ANSWERED, toolConfig={"tools": [tool("cosine")]})),
        ("I-MAX-TOKENS-EDGE", NOVA, with_inference(maxTokens=10_000)),
        ("I-CONTEXT", CLAUDE, asking(user(text("word " * 170_000)))),
        ("D-IMAGE-LIMITS", CLAUDE, asking(user(*[{"image": {"format": "png", "source": {"bytes": "eA=="}}}] * 21))),
        ("A-BIG-INTEGER", CLAUDE, asking(user(text("q")), assistant(use("t1", {"x": [2**63]})), user(result("t1")))),
    ],
)
def test_what_is_better_avoided_is_a_warning(rule: str, model_id: str, request_: Request) -> None:
    assert warned(model_id, request_) == {rule}
    assert broken(model_id, request_) == set()
