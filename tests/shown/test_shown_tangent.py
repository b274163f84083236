"""The tangent of docs/agents.md."""

import json
import math
import re

import pytest

from tests.agent.edge.whole_function import running
from tests.shown.transcripts import ROOT, play, shown

pytestmark = pytest.mark.slow


def test_a_tool_that_is_not_there_is_told_and_another_one_used() -> None:
    (asking,) = shown("Tools that build on each other")
    play(asking)
    with running(TOOLS="calculator") as whole:
        whole.play(*json.loads((ROOT / "docs" / "scripts" / "tangent.json").read_text(encoding="utf-8")))
        assert whole.direct("What is the tangent of 7?")["answer"] == "The tangent of 7 is about 0.87145."
        missing, found = (request.body["messages"][-1]["content"][0]["toolResult"] for request in whole.requests[1:])
    assert missing["content"] == [{"text": "There is no tool named tangent. The tools are: calculate."}]
    [value] = re.findall(r"0\.8714\d*", str(found["content"]))
    assert math.isclose(float(value), math.tan(7), rel_tol=1e-9)
