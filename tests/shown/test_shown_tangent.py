"""The tangent of docs/agents.md."""

import json
import math

import pytest

from tests.shown.transcripts import play, shown

pytestmark = pytest.mark.slow


def test_a_tangent_is_made_of_sine_and_cosine() -> None:
    (sending,) = shown("Tools that build on each other")
    printed = play(sending)
    answer = json.loads(printed[printed.index("{") :])["answer"]
    assert float(answer.rpartition("= ")[2].rstrip(".")) == pytest.approx(math.tan(7))
