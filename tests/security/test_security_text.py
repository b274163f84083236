"""SECURITY.md is true: every test, setting, choice and target that it names exists, and no risk is left out."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

from infra.config import Config

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
RISKS = re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]
NAMED_TESTS = sorted(set(re.findall(r"`(tests/[^`]+)`", TEXT)))
# names of OWASP's list of 2025
TITLES = [
    "LLM01 Prompt injection",
    "LLM02 Sensitive information disclosure",
    "LLM03 Supply chain",
    "LLM04 Data and model poisoning",
    "LLM05 Improper output handling",
    "LLM06 Excessive agency",
    "LLM07 System prompt leakage",
    "LLM08 Vector and embedding weaknesses",
    "LLM09 Misinformation",
    "LLM10 Unbounded consumption",
]


def test_every_risk_has_its_section_with_what_is_left_to_the_user() -> None:
    assert [risk.splitlines()[0] for risk in RISKS] == TITLES
    for risk in RISKS:
        assert "*Yours:*" in risk
        assert "`tests/" in risk or risk.startswith("LLM08")


@pytest.mark.parametrize("named", NAMED_TESTS)
def test_every_test_that_is_named_exists(named: str) -> None:
    path, _, name = named.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_setting_that_is_named_exists() -> None:
    tree = ast.parse((ROOT / "lambda" / "agent" / "settings.py").read_text(encoding="utf-8"))
    known = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    named = set(re.findall(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|TOOLS)`", TEXT))
    assert {"LOG_CONTENT", "MAX_STEPS", "TOOLS"} <= named <= known


def test_every_limit_that_is_a_setting_is_named() -> None:
    tree = ast.parse((ROOT / "lambda" / "agent" / "settings.py").read_text(encoding="utf-8"))
    known = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    limits = {
        name for name in known if re.fullmatch(r"[A-Z_]*(MAX|LIMIT|TIMEOUT|DAILY|GUARDRAIL|TTL|APPROV)[A-Z_]*", name)
    }
    assert len(limits) > 8
    assert not [name for name in sorted(limits) if f"`{name}`" not in TEXT]


def test_every_choice_of_the_deployment_that_is_named_exists() -> None:
    named = set(re.findall(r"`([a-z_]+)`\s+in\s+`cdk\.json`", TEXT))
    assert {"auth", "kms_key", "api_burst"} <= named <= {item.name for item in fields(Config)}


def test_every_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"`make ([a-z-]+)`", TEXT))
    assert "audit" in named
    assert all(re.search(rf"^{target}\b.*:", makefile, re.MULTILINE) for target in named)


def test_a_report_is_sent_where_it_is_private() -> None:
    assert "private vulnerability reporting" in TEXT.replace("\n", " ")
