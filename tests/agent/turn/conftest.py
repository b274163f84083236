"""Every turn of these tests is run twice: with nobody who listens, and streamed to a listener. Nothing else may differ."""

from collections.abc import Iterator

import pytest

from tests.agent.turn.turns import streamed


@pytest.fixture(autouse=True, params=["whole", "streamed"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """How the turns of a test are run."""
    if request.param == "whole":
        yield
        return
    with streamed():
        yield
