"""What Bedrock refuses: the one table of rules, and the check of a request against all of them.

Most come from the documentation of AWS and the providers, some from public reports of real calls; where sources
disagree the strict side is taken, so that a request without violations is good for every model of its family.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from local.bedrock import conversation_rules as conversation
from local.bedrock import media_rules as media
from local.bedrock import reasoning_rules as reasoning
from local.bedrock import service_model
from local.bedrock import settings_rules as settings
from local.bedrock import tool_config_rules as tool_config
from local.bedrock import tool_use_rules as tool_use
from local.bedrock.case import Case, Rule
from local.bedrock.issued import Issued
from local.bedrock.model_facts import (
    Applies,
    any_model,
    binds_no_reasoning,
    binds_reasoning,
    families,
    model_facts,
)

Level = Literal["error", "warn"]
BODY_BYTES = 20_000_000  # a request must stay below

_CLAUDE = families("anthropic")
_PLAIN = families("meta", "mistral")
_NEITHER_CLAUDE_NOR_NOVA = families("meta", "mistral", "other")

TRANSPORT_RULES = ("T-JSON", "T-SIZE", "T-SURROGATE")
SERVICE_MODEL_RULES = (
    "M-TYPE",
    "M-REQUIRED",
    "M-UNKNOWN",
    "M-UNION",
    "M-ENUM",
    "M-PATTERN",
    "M-LENGTH",
    "M-RANGE",
    "M-BLOB",
)
RULES: dict[str, tuple[Level, Applies, Rule]] = {
    "C-FIRST-USER": ("error", any_model, conversation.first_is_user),
    "C-ALTERNATE": ("error", any_model, conversation.roles_alternate),
    "C-LAST-USER": ("error", any_model, conversation.last_is_user),
    "C-LAST-WHITESPACE": ("error", any_model, conversation.prefill_is_trimmed),
    "C-ROLE-SYSTEM": ("error", any_model, conversation.no_system_role),
    "C-EMPTY-CONTENT": ("error", any_model, conversation.content_is_there),
    "C-BLANK-TEXT": ("error", any_model, conversation.text_is_not_blank),
    "C-SYSTEM-BLANK": ("error", any_model, conversation.system_is_not_blank),
    "C-BLOCK-ROLE": ("error", any_model, conversation.blocks_fit_role),
    "U-UNANSWERED": ("error", any_model, tool_use.every_use_is_answered),
    "U-ORPHAN": ("error", any_model, tool_use.every_result_answers),
    "U-DUP-USE": ("error", any_model, tool_use.use_ids_are_unique),
    "U-DUP-USE-HISTORY": ("error", _CLAUDE, tool_use.use_ids_are_unique_for_ever),
    "U-DUP-RESULT": ("error", any_model, tool_use.result_ids_are_unique),
    "U-CONFIG-REQUIRED": ("error", any_model, tool_use.tools_are_configured),
    "U-INPUT-OBJECT": ("error", any_model, tool_use.input_is_object),
    "U-RESULT-EMPTY": ("error", any_model, tool_use.error_result_says_why),
    "U-RESULT-EMPTY-SUCCESS": ("error", any_model, tool_use.result_has_content),
    "U-RESULT-BLANK": ("warn", any_model, tool_use.result_text_is_not_blank),
    "U-RESULT-JSON": ("error", any_model, tool_use.result_json_is_object),
    "U-RESULT-FIRST": ("error", any_model, tool_use.results_come_first),
    "U-RESULT-ALONE": ("error", _PLAIN, tool_use.results_are_alone),
    "U-USE-ALONE": ("error", _PLAIN, tool_use.uses_have_no_text),
    "U-RESULT-MEDIA": ("error", _CLAUDE, tool_use.no_media_beside_results),
    "U-STATUS-FAMILY": ("warn", _NEITHER_CLAUDE_NOR_NOVA, tool_use.status_is_for_some),
    "U-USE-LAST": ("warn", _CLAUDE, tool_use.nothing_follows_uses),
    "U-NAME-UNIQUE": ("error", any_model, tool_config.names_are_unique),
    "U-SCHEMA-OBJECT": ("error", any_model, tool_config.schema_is_of_object),
    "U-SCHEMA-VALID": ("error", any_model, tool_config.schema_is_valid),
    "U-SCHEMA-COMBINATOR": ("error", _CLAUDE, tool_config.schema_has_no_combinator),
    "U-SCHEMA-NOVA": ("warn", families("nova"), tool_config.schema_is_plain),
    "U-CHOICE-KNOWN": ("error", any_model, tool_config.choice_is_offered),
    "U-CHOICE-FAMILY": ("error", _NEITHER_CLAUDE_NOR_NOVA, tool_config.choice_suits_family),
    "U-HISTORY-TOOL": ("warn", any_model, tool_config.called_tools_are_offered),
    "R-KEPT": ("error", any_model, reasoning.reasoning_is_kept),
    "R-UNCHANGED": ("error", any_model, reasoning.reasoning_is_unchanged),
    "R-MERGED": ("error", any_model, reasoning.reasoning_is_not_merged),
    "R-SIGNATURE": ("error", _CLAUDE, reasoning.signature_fits),
    "R-ORDER": ("error", any_model, reasoning.reasoning_precedes_uses),
    "R-LAST-BLOCK": ("error", _CLAUDE, reasoning.reasoning_is_not_last),
    "R-PREFIX": ("error", binds_reasoning, reasoning.prefix_is_same),
    "R-PREFIX-OTHER": ("warn", binds_no_reasoning, reasoning.prefix_is_same),
    "R-THINK-CHOICE": ("error", _CLAUDE, reasoning.thinking_forces_no_tool),
    "R-THINK-SAMPLING": ("error", _CLAUDE, reasoning.thinking_leaves_sampling),
    "R-THINK-BUDGET": ("error", _CLAUDE, reasoning.thinking_budget_fits),
    "K-MAX": ("error", any_model, settings.cache_points_are_few),
    "K-TTL-ORDER": ("error", any_model, settings.long_cache_comes_first),
    "I-MAX-TOKENS": ("error", any_model, settings.max_tokens_fits),
    "I-MAX-TOKENS-EDGE": ("warn", any_model, settings.max_tokens_is_below),
    "I-TEMP-TOPP": ("error", _CLAUDE, settings.one_of_temperature_and_top_p),
    "I-SAMPLING-GONE": ("error", _CLAUDE, settings.sampling_is_default),
    "I-STOP-BLANK": ("error", _CLAUDE, settings.stop_sequence_is_not_blank),
    "I-CONTEXT": ("warn", any_model, settings.text_fits_context),
    "D-DOC-LIMITS": ("error", any_model, media.documents_keep_limits),
    "D-IMAGE-LIMITS": ("warn", any_model, media.images_keep_limits),
    "D-DOC-TEXT": ("error", any_model, media.document_comes_with_text),
    "D-DOC-NAME": ("error", any_model, media.document_names_are_neutral),
    "A-POINTER": ("error", any_model, settings.paths_are_pointers),
    "A-PROMPT": ("error", any_model, settings.stored_prompt_stands_alone),
    "A-BIG-INTEGER": ("warn", any_model, settings.integers_fit),
}
# After one of these the other rules can't read the request.
_UNREADABLE = frozenset({"M-TYPE", "M-REQUIRED", "M-UNION"})


@dataclass(frozen=True)
class Violation:
    """A broken rule: `error` is refused by the service, `warn` is answered and better avoided."""

    rule: str
    level: Level
    message: str


def violations(
    model_id: str, request: dict[str, Any], *, stream: bool = False, issued: Issued | None = None
) -> list[Violation]:
    """All rules that a Converse request breaks, in the order of the table.

    `request` is the decoded JSON body, so blobs are base64 text; `stream` tells converse-stream's body, and `issued`
    what the stand-in has answered before. A request that is not of the service model's shape is judged no further.
    """
    if found := [Violation(rule, "error", message) for rule, message in _transport(request)]:
        return found
    shape = list(service_model.findings(model_id, request, stream=stream))
    found = [Violation(rule, "error", message) for rule, message in shape]
    if any(violation.rule in _UNREADABLE for violation in found):
        return found
    case = Case(model_facts(model_id), request, issued or Issued())
    for name, (level, applies, rule) in RULES.items():
        if applies(case.model):
            found += [Violation(name, level, message) for message in rule(case)]
    return found


def decode(raw: bytes) -> tuple[dict[str, Any], list[Violation]]:
    """The JSON object of a body as it came over the wire; an empty one and why, where it is none."""
    if len(raw) >= BODY_BYTES:
        size = f"the body has {len(raw)} bytes and must stay below {BODY_BYTES}"
        return {}, [Violation("T-SIZE", "error", size)]
    try:
        body = json.loads(raw or b"{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        return {}, [Violation("T-JSON", "error", f"the body is not strict JSON ({error})")]
    if not isinstance(body, dict):
        return {}, [Violation("T-JSON", "error", "the body is no JSON object")]
    return body, []


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _transport(request: dict[str, Any]) -> Iterator[tuple[str, str]]:
    try:
        text = json.dumps(request, allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
    except UnicodeEncodeError:
        yield "T-SURROGATE", "a string holds half of a surrogate pair"
    except (TypeError, ValueError, RecursionError) as error:
        yield "T-JSON", f"the body is not strict JSON ({error})"
    else:
        if size >= BODY_BYTES:
            yield "T-SIZE", f"the body has {size} bytes and must stay below {BODY_BYTES}"
