"""One function a test module; each test has it to itself, and no request that the model was sent may break a rule."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.agent.adapters.dynamodb.tables import FailingClient, moto_table
from tests.agent.edge.desk import Desk, serial
from tests.agent.edge.whole_function import Whole, running
from tests.fakes import FakeClock, FakeJournal


@pytest.fixture(scope="module")
def one_function() -> Iterator[Whole]:
    """The function that the tests of a module share."""
    with running() as whole:
        yield whole


@pytest.fixture
def whole(one_function: Whole) -> Iterator[Whole]:
    """The function, with nothing said yet; afterwards no recorded request may be one that Bedrock refuses."""
    one_function.begin()
    yield one_function
    broken = [found for request in one_function.requests for found in request.violations if found.level == "error"]
    assert not broken


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    with moto_table() as client:
        yield client


@pytest.fixture
def desk(table: Any) -> Desk:
    return Desk(FailingClient(table), f"desk-{next(serial)}", FakeClock(1_800_000_000.0), FakeJournal(), [])
