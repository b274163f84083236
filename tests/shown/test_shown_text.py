"""docs/agents.md names only what there is, and every command of it is played by a test."""

import re
from pathlib import Path

import pytest

from agent.tooling.offered import modules_in
from tests.shown.transcripts import AGENTS, ROOT, section
from tests.test_readme import settings_read

pytestmark = pytest.mark.slow

HEADINGS = re.findall(r"^## (.+)$", AGENTS, re.MULTILINE)
_SPANS = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", AGENTS, flags=re.DOTALL))
_SOURCES = {path: path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_shown_*.py")}


def test_every_file_that_is_named_exists() -> None:
    named = {span for span in _SPANS if re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?", span)}
    named |= set(re.findall(r"\b(?:docs|events)/[\w./-]+\b", AGENTS))
    assert len(named) > 10
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_test_that_is_named_stands_in_the_file_that_is_named() -> None:
    held = re.findall(r"Held by\s(.+?)\sin\s`(tests/shown/[a-z_]+\.py)`", AGENTS, re.DOTALL)
    assert len(held) == AGENTS.count("Held by")
    named = {(name, file) for names, file in held for name in re.findall(r"`(test_\w+)`", names)}
    assert len(named) >= len(held)
    there = {
        (name, str(path.relative_to(ROOT)))
        for path, text in _SOURCES.items()
        for name in re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)
    }
    assert named - there == set()


@pytest.mark.parametrize("heading", HEADINGS)
def test_every_section_with_commands_names_a_test_that_plays_them(heading: str) -> None:
    text = section(heading)
    if "```console" in text:
        file = re.search(r"`(tests/shown/[a-z_]+\.py)`", text)
        assert file
        assert f'shown("{heading}")' in (ROOT / file[1]).read_text(encoding="utf-8")


def test_every_setting_that_is_set_exists() -> None:
    ours = settings_read().keys() | {"AGENT_WORKSPACE"}  # the shell's own
    named = dict(re.findall(r"--set ([A-Z_]+)=(\S+)", AGENTS))
    assert named.keys() - ours == set()
    chosen = {name for names in re.findall(r"\bTOOLS=([a-z_,]+)", AGENTS) for name in names.split(",")}
    assert chosen <= set(modules_in(ROOT / "lambda" / "agent" / "tools"))


def test_every_script_is_used() -> None:
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "scripts").glob("*.json")}
    assert there
    assert there == set(re.findall(r"--script (\S+\.json)", AGENTS))


def test_every_link_within_leads_to_a_section() -> None:
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in HEADINGS}
    assert set(re.findall(r"\]\(#([\w-]+)\)", AGENTS)) == anchors
