"""One ground a module; what a test finds in it is its own, and no request that the model was sent may break a rule."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.torture.ground import Ground, Tally, ground_in


@pytest.fixture(scope="module")
def one_ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """The ground that the tests of a module share."""
    folder: Path = tmp_path_factory.mktemp("luck")
    with ground_in(folder) as ground:
        yield ground


@pytest.fixture
def ground(one_ground: Ground) -> Iterator[Ground]:
    """The ground with nothing found yet; afterwards nothing may be violated and no answer lost."""
    one_ground.tally = Tally()
    yield one_ground
    assert one_ground.tally.violations + one_ground.cloud.broken_rules() == []
    assert one_ground.tally.lost == []
    assert one_ground.tally.counts["requests"]
