"""Search and calculate of docs/agents.md, by a model with tool use and by one that only writes text."""

import json
from pathlib import Path
from typing import Any

import pytest

from local.trajectory import ToolStep, assert_trajectory, trajectory
from tests.agent.edge.whole_function import Whole, running
from tests.shown.transcripts import importing_from, play, shown

pytestmark = pytest.mark.slow

_QUESTION = "How old is Hanako Aoki, and what do that many candles at 100 yen cost?"
_STEPS = (
    ToolStep("search_web", {"query": "Hanako Aoki candle maker age"}),
    ToolStep("calculate", {"formula": "62 × 100"}),
)


def test_an_age_is_searched_and_the_candles_are_calculated() -> None:
    (asking,) = shown("Search and calculate")
    play(asking)
    with importing_from("docs/scripts/search"), running(TOOLS="web_search,calculator") as whole:
        found, calculated = _results(whole, "candles")
    assert "Hanako Aoki (62)" in json.dumps(found)
    assert "6200" in json.dumps(calculated)


def test_a_model_that_only_writes_text_uses_the_same_tools() -> None:
    (asking,) = shown("The same without tool use")
    play(asking)
    with importing_from("docs/scripts/search"):
        with running(TOOLS="web_search,calculator") as whole:
            native = _results(whole, "candles")
        with running(TOOLS="web_search,calculator", MODEL_TOOL_USE="react") as whole:
            assert _results(whole, "candles-react") == native
            sent = [request.body for request in whole.requests]
    assert [body for body in sent if "toolConfig" in body] == []
    last = sent[-1]["messages"][-1]["content"][0]["text"]
    assert "6200" in last
    # the observation that the model made up
    assert "62000" in Path("docs/scripts/candles-react.json").read_text(encoding="utf-8")
    assert "62000" not in json.dumps(sent)


def _results(whole: Whole, script: str) -> list[list[dict[str, Any]]]:
    """What the tools returned in the stored turn, in which just these tools must have been used."""
    whole.play(*json.loads(Path(f"docs/scripts/{script}.json").read_text(encoding="utf-8")))
    answer = whole.direct(_QUESTION, session_id=script)
    assert answer["answer"].endswith("62 × 100 = 6,200 yen.")
    messages = json.loads(whole.items(script)[0]["messages"]["S"])
    assert_trajectory(messages, *_STEPS)
    return [step.result for step in trajectory(messages)]
