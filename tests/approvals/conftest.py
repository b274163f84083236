"""One table a test module; each test has a session to itself."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.agent.adapters.dynamodb.tables import FailingClient, moto_table
from tests.agent.edge.whole_function import running
from tests.approvals.office import Locked, Office
from tests.approvals.shop import Processes, Shop


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    with moto_table() as client:
        yield Locked(client)


@pytest.fixture
def office(table: Any) -> Office:
    return Office(FailingClient(table))


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """The processes that the tests of this module share."""
    with running() as whole:
        yield Processes(whole)


@pytest.fixture
def shop(processes: Processes) -> Iterator[Shop]:
    processes.whole.begin()
    yield Shop(processes)
    broken = [found for request in processes.whole.requests for found in request.violations if found.level == "error"]
    assert not broken
