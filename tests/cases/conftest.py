"""The whole function of tests/agent/edge: one a test module, and no request that the model was sent may break a rule.

Every case is run twice: its turns answered whole, and by events. Nothing else may differ.
"""

from collections.abc import Iterator

import pytest

from tests.agent.edge.conftest import whole
from tests.agent.edge.whole_function import Whole, running

__all__ = ["one_function", "whole"]


@pytest.fixture(scope="module", params=[False, True], ids=["whole", "streamed"])
def one_function(request: pytest.FixtureRequest) -> Iterator[Whole]:
    """The function that the tests of a module share."""
    with running(streams=request.param) as whole:
        yield whole
