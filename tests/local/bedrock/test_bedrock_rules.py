"""Each rule of the stand-in: for each of level error a request that breaks just it, and good ones that break none."""

from __future__ import annotations

import pytest

from local.bedrock.rules import RULES, SERVICE_MODEL_RULES, TRANSPORT_RULES, Violation, violations
from tests.local.bedrock.converse_requests import (
    ANSWERED,
    CLAUDE,
    CLAUDE_47,
    COHERE,
    GOOD,
    LLAMA,
    MISTRAL,
    NOVA,
    PROFILE,
    PROMPT,
    THOUGHT,
    Request,
    asking,
    assistant,
    broken,
    cache_point,
    document,
    of,
    result,
    text,
    thinking,
    tool,
    use,
    user,
    with_inference,
)

# Rule, model, a request that breaks this rule alone.
BREAKS: list[tuple[str, str, Request]] = [
    ("T-JSON", CLAUDE, with_inference(temperature=float("nan"))),
    ("T-JSON", CLAUDE, asking(user(text("q")), assistant(use("t1", {"x": float("inf")})), user(result("t1")))),
    ("T-SIZE", CLAUDE, asking(user(text("x" * 20_000_000)))),
    ("T-SURROGATE", CLAUDE, asking(user(text("half an emoji \ud83d")))),
    ("M-TYPE", CLAUDE, with_inference(maxTokens="4096")),
    ("M-TYPE", CLAUDE, with_inference(maxTokens=True)),
    ("M-TYPE", CLAUDE, asking(user(text("q")), system=None)),
    ("M-TYPE", CLAUDE, asking(user("q"))),
    ("M-REQUIRED", CLAUDE, asking({"role": "user"})),
    ("M-REQUIRED", CLAUDE, asking({"role": "user", "content": None})),
    ("M-REQUIRED", CLAUDE, asking(user(text("q")), assistant({"toolUse": {"toolUseId": "a", "name": "sine"}}))),
    ("M-UNKNOWN", CLAUDE, of(temperature=1)),
    ("M-UNKNOWN", CLAUDE, asking(user({"SDK_UNKNOWN_MEMBER": {"name": "x"}}, text("q")))),
    ("M-UNION", CLAUDE, asking(user({}))),
    ("M-UNION", CLAUDE, asking(user({"text": "q", "cachePoint": {"type": "default"}}))),
    ("M-ENUM", CLAUDE, asking(*ANSWERED[:2], user(result("t1", status="failed")))),
    ("M-PATTERN", CLAUDE, asking(user(text("q")), assistant(use("t1", name="open(url=1)")), user(result("t1")))),
    ("M-PATTERN", CLAUDE, asking(user(text("q")), assistant(use("t 1")), user(result("t 1")))),
    ("M-PATTERN", CLAUDE, asking(toolConfig={"tools": [tool("sine\n")]})),
    ("M-PATTERN", "what model?", asking()),
    ("M-LENGTH", CLAUDE, asking(toolConfig={"tools": []})),
    ("M-LENGTH", CLAUDE, asking(toolConfig={"tools": [tool("n" * 65)]})),
    ("M-LENGTH", CLAUDE, asking(user(text("q"), {"image": {"format": "png", "source": {"bytes": ""}}}))),
    ("M-RANGE", CLAUDE, with_inference(temperature=2.0)),
    ("M-RANGE", CLAUDE, with_inference(maxTokens=0)),
    ("M-BLOB", CLAUDE, asking(user(text("q"), {"image": {"format": "png", "source": {"bytes": "no base64!"}}}))),
    ("C-FIRST-USER", CLAUDE, {"messages": []}),
    ("C-FIRST-USER", CLAUDE, {}),
    ("C-FIRST-USER", CLAUDE, asking(assistant(text("hello")), user(text("q")))),
    ("C-ALTERNATE", CLAUDE, asking(user(text("q")), user(text("q")))),
    ("C-LAST-USER", NOVA, asking(user(text("q")), assistant(text("The answer")))),
    ("C-ROLE-SYSTEM", CLAUDE, asking({"role": "system", "content": [text("s")]}, user(text("q")))),
    ("C-EMPTY-CONTENT", CLAUDE, asking(user())),
    ("C-EMPTY-CONTENT", CLAUDE, asking(user(cache_point()))),
    ("C-BLANK-TEXT", CLAUDE, asking(user(text("q"), text("")))),
    ("C-BLANK-TEXT", CLAUDE, asking(user(text("\n \u3000")))),
    ("C-BLANK-TEXT", CLAUDE, asking(user({"guardContent": {"text": {"text": " "}}}))),
    ("C-SYSTEM-BLANK", CLAUDE, of(system=[text("  \n")])),
    ("C-BLOCK-ROLE", CLAUDE, asking(user(text("q"), THOUGHT, text("q")))),
    ("C-BLOCK-ROLE", NOVA, asking(user(text("q")), assistant(text("a"), document()), user(text("q")))),
    ("U-UNANSWERED", CLAUDE, asking(user(text("q")), assistant(use("t1")), user(text("hello?")))),
    ("U-UNANSWERED", CLAUDE, asking(user(text("q")), assistant(use("t1"), use("t2")), user(result("t1")))),
    ("U-ORPHAN", CLAUDE, asking(user(result("t1")))),
    ("U-ORPHAN", CLAUDE, asking(*ANSWERED, assistant(text("a")), user(result("t1")))),
    ("U-DUP-USE", CLAUDE, asking(user(text("q")), assistant(use("t1"), use("t1")), user(result("t1")))),
    ("U-DUP-USE-HISTORY", CLAUDE, asking(*ANSWERED, *ANSWERED[1:])),
    ("U-DUP-RESULT", CLAUDE, asking(*ANSWERED[:2], user(result("t1"), result("t1")))),
    ("U-CONFIG-REQUIRED", CLAUDE, {"messages": list(ANSWERED)}),
    ("U-INPUT-OBJECT", CLAUDE, asking(user(text("q")), assistant(use("t1", [])), user(result("t1")))),
    ("U-INPUT-OBJECT", CLAUDE, asking(user(text("q")), assistant(use("t1", "{")), user(result("t1")))),
    ("U-RESULT-EMPTY", CLAUDE, asking(*ANSWERED[:2], user(result("t1", text(" "), status="error")))),
    (
        "U-RESULT-EMPTY-SUCCESS",
        CLAUDE,
        asking(*ANSWERED[:2], user({"toolResult": {"toolUseId": "t1", "content": []}})),
    ),
    ("U-RESULT-JSON", CLAUDE, asking(*ANSWERED[:2], user(result("t1", {"json": [1, 2]})))),
    ("U-RESULT-JSON", CLAUDE, asking(*ANSWERED[:2], user(result("t1", {"json": None})))),
    ("U-RESULT-FIRST", CLAUDE, asking(*ANSWERED[:2], user(text("here"), result("t1")))),
    ("U-RESULT-ALONE", LLAMA, asking(*ANSWERED[:2], user(result("t1"), text("here")))),
    ("U-USE-ALONE", MISTRAL, asking(user(text("q")), assistant(text("Let me see."), use("t1")), user(result("t1")))),
    ("U-RESULT-MEDIA", CLAUDE, asking(*ANSWERED[:2], user(result("t1"), text("here"), document()))),
    ("U-NAME-UNIQUE", CLAUDE, asking(toolConfig={"tools": [tool(), tool()]})),
    ("U-SCHEMA-OBJECT", CLAUDE, asking(toolConfig={"tools": [tool(type="string")]})),
    (
        "U-SCHEMA-OBJECT",
        CLAUDE,
        asking(toolConfig={"tools": [{"toolSpec": {"name": "t", "inputSchema": {"json": {}}}}]}),
    ),
    ("U-SCHEMA-VALID", CLAUDE, asking(toolConfig={"tools": [tool(required="x")]})),
    ("U-SCHEMA-COMBINATOR", CLAUDE, asking(toolConfig={"tools": [tool(anyOf=[{"required": ["x"]}])]})),
    ("U-CHOICE-KNOWN", CLAUDE, asking(toolConfig={"tools": [tool()], "toolChoice": {"tool": {"name": "cosine"}}})),
    ("U-CHOICE-FAMILY", COHERE, asking(toolConfig={"tools": [tool()], "toolChoice": {"tool": {"name": "sine"}}})),
    ("U-CHOICE-FAMILY", LLAMA, asking(toolConfig={"tools": [tool()], "toolChoice": {"any": {}}})),
    ("R-KEPT", CLAUDE, asking(*ANSWERED, **thinking())),
    (
        "R-SIGNATURE",
        CLAUDE,
        asking(
            user(text("q")),
            assistant({"reasoningContent": {"reasoningText": {"text": "hm"}}}, use("t1")),
            user(result("t1")),
        ),
    ),
    (
        "R-ORDER",
        CLAUDE,
        asking(user(text("q")), assistant(use("t1"), THOUGHT, use("t2")), user(result("t1"), result("t2"))),
    ),
    ("R-LAST-BLOCK", CLAUDE, asking(user(text("q")), assistant(text("a"), THOUGHT), user(text("go on")))),
    ("R-THINK-CHOICE", CLAUDE, thinking(**asking(toolConfig={"tools": [tool()], "toolChoice": {"any": {}}}))),
    ("R-THINK-SAMPLING", CLAUDE, asking(**thinking(inferenceConfig={"temperature": 0.5}))),
    ("R-THINK-SAMPLING", CLAUDE, asking(**thinking(inferenceConfig={"topP": 0.9}))),
    ("R-THINK-BUDGET", CLAUDE, asking(**thinking(inferenceConfig={"maxTokens": 1024}))),
    (
        "R-THINK-BUDGET",
        CLAUDE,
        asking(additionalModelRequestFields={"thinking": {"type": "enabled", "budget_tokens": 100}}),
    ),
    ("K-MAX", CLAUDE, asking(user(text("q"), *[cache_point()] * 3), system=[text("s"), *[cache_point()] * 2])),
    ("K-TTL-ORDER", CLAUDE, asking(user(text("q"), cache_point("1h")), system=[text("s"), cache_point()])),
    ("I-MAX-TOKENS", NOVA, with_inference(maxTokens=10_001)),
    ("I-TEMP-TOPP", CLAUDE, with_inference(temperature=0.1, topP=0.9)),
    ("I-SAMPLING-GONE", CLAUDE_47, with_inference(temperature=0.1)),
    ("I-STOP-BLANK", CLAUDE, with_inference(stopSequences=["\n"])),
    ("D-DOC-LIMITS", CLAUDE, asking(user(text("q"), *[document(f"d{number}") for number in range(6)]))),
    ("D-DOC-LIMITS", CLAUDE, asking(user(text("q"), document(size=4_500_001)))),
    ("D-DOC-TEXT", CLAUDE, asking(user(document()))),
    ("D-DOC-NAME", CLAUDE, asking(user(text("q"), document("report.txt")))),
    ("D-DOC-NAME", CLAUDE, asking(user(text("q"), document("a"), document("a")))),
    ("A-POINTER", CLAUDE, of(additionalModelResponseFieldPaths=["stop_sequence"])),
    ("A-PROMPT", PROMPT, {"inferenceConfig": {"maxTokens": 5}}),
]
# What is told by the record of earlier answers, or breaks another rule by its nature, has tests of its own below.
TESTED_APART = {"C-LAST-WHITESPACE", "R-UNCHANGED", "R-MERGED", "R-PREFIX"}


@pytest.mark.parametrize(
    "model_id", [CLAUDE, NOVA, COHERE, PROFILE, f"arn:aws:bedrock:us-east-1::foundation-model/{NOVA}"]
)
def test_a_good_request_breaks_no_rule(model_id: str) -> None:
    assert broken(model_id, GOOD) == set()


def test_a_good_request_to_a_plain_model_breaks_no_rule() -> None:
    plain = asking(*ANSWERED, assistant(text("0.84")), user(text("q")), inferenceConfig={"temperature": 0.1, "topP": 1})
    assert broken(LLAMA, plain) == broken(MISTRAL, plain) == set()


@pytest.mark.parametrize(
    ("rule", "model_id", "request_"), BREAKS, ids=[f"{rule}-{i}" for i, (rule, _, _) in enumerate(BREAKS)]
)
def test_a_request_that_breaks_a_rule_is_told_just_that(rule: str, model_id: str, request_: Request) -> None:
    assert broken(model_id, request_) == {rule}


def test_every_rule_of_level_error_is_broken_by_a_test() -> None:
    errors = {rule for rule, (level, _, _) in RULES.items() if level == "error"}
    assert {rule for rule, _, _ in BREAKS} | TESTED_APART == errors | set(SERVICE_MODEL_RULES) | set(TRANSPORT_RULES)


def test_the_table_has_every_known_rule() -> None:
    known = {
        "C": "FIRST-USER ALTERNATE LAST-USER LAST-WHITESPACE ROLE-SYSTEM EMPTY-CONTENT BLANK-TEXT SYSTEM-BLANK "
        "BLOCK-ROLE",
        "U": "UNANSWERED ORPHAN DUP-USE DUP-USE-HISTORY DUP-RESULT CONFIG-REQUIRED INPUT-OBJECT RESULT-EMPTY "
        "RESULT-EMPTY-SUCCESS RESULT-JSON RESULT-FIRST RESULT-ALONE USE-ALONE RESULT-MEDIA NAME-UNIQUE SCHEMA-OBJECT "
        "SCHEMA-VALID SCHEMA-COMBINATOR CHOICE-KNOWN CHOICE-FAMILY",
        "R": "KEPT UNCHANGED MERGED SIGNATURE ORDER LAST-BLOCK PREFIX THINK-CHOICE THINK-SAMPLING THINK-BUDGET",
        "K": "MAX TTL-ORDER",
        "I": "MAX-TOKENS TEMP-TOPP SAMPLING-GONE STOP-BLANK",
        "D": "DOC-LIMITS DOC-TEXT DOC-NAME",
        "A": "POINTER PROMPT",
    }
    warnings = {
        "U": "RESULT-BLANK STATUS-FAMILY USE-LAST SCHEMA-NOVA HISTORY-TOOL",
        "R": "PREFIX-OTHER",
        "I": "MAX-TOKENS-EDGE CONTEXT",
        "D": "IMAGE-LIMITS",
        "A": "BIG-INTEGER",
    }

    def ids(table: dict[str, str]) -> set[str]:
        return {f"{letter}-{name}" for letter, names in table.items() for name in names.split()}

    assert {rule for rule, (level, _, _) in RULES.items() if level == "error"} == ids(known)
    assert {rule for rule, (level, _, _) in RULES.items() if level == "warn"} == ids(warnings)


@pytest.mark.parametrize(
    ("rule", "model_id"),
    [
        ("U-DUP-USE-HISTORY", NOVA),
        ("U-RESULT-ALONE", CLAUDE),
        ("U-USE-ALONE", PROFILE),
        ("U-RESULT-MEDIA", NOVA),
        ("U-SCHEMA-COMBINATOR", NOVA),
        ("U-CHOICE-FAMILY", NOVA),
        ("R-KEPT", NOVA),
        ("R-SIGNATURE", NOVA),
        ("R-LAST-BLOCK", NOVA),
        ("I-MAX-TOKENS", PROFILE),
        ("I-TEMP-TOPP", "anthropic.claude-3-7-sonnet-20250219-v1:0"),
        ("I-SAMPLING-GONE", CLAUDE),
        ("I-STOP-BLANK", NOVA),
    ],
)
def test_a_rule_of_one_family_spares_the_others(rule: str, model_id: str) -> None:
    request = next(request for name, _, request in BREAKS if name == rule)
    assert rule not in broken(model_id, request)


def test_a_prefilled_answer_that_ends_with_white_space_is_told_twice() -> None:
    request = asking(user(text("q")), assistant(text("The answer ")))
    assert broken(NOVA, request) == {"C-LAST-USER", "C-LAST-WHITESPACE"}


def test_a_violation_tells_where_it_is() -> None:
    request = asking(user(text("q")), assistant(text(" "), text("a")), user(text("q")))
    assert violations(CLAUDE, request) == [Violation("C-BLANK-TEXT", "error", "messages[1].content[0].text is blank")]


def test_a_pdf_may_be_large_for_claude_4_and_nova_alone() -> None:
    request = asking(user(text("q"), document(size=4_500_001, kind="pdf")))
    assert broken(CLAUDE, request) == broken(NOVA, request) == set()
    assert broken("anthropic.claude-3-5-sonnet-20241022-v2:0", request) == {"D-DOC-LIMITS"}
