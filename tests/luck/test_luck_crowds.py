"""Many requests at once, in processes of their own."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from tests.torture import crowds
from tests.torture.ground import Ground

pytestmark = pytest.mark.slow


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads that take turns all the time, so that what isn't atomic shows."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("hasty_threads")
def test_one_of_many_conditional_writes_to_this_storage_gets_through(ground: Ground) -> None:
    def put(key: str) -> bool:
        item = {"session_id": {"S": key}, "turn": {"N": "1"}}
        try:
            ground.cloud.dynamodb.put_item(
                TableName=ground.cloud.table, Item=item, ConditionExpression="attribute_not_exists(turn)"
            )
        except ClientError:
            return False
        return True

    ground.tally.count("requests")
    with ThreadPoolExecutor(8) as threads:
        for key in (f"write {number}" for number in range(20)):
            assert sum(threads.map(put, [key] * 8)) == 1


def test_twenty_requests_at_one_session_run_one_at_a_time_and_none_is_lost(ground: Ground) -> None:
    crowds.many_at_one_session(ground, 20, hurry=10)
    assert ground.tally.counts["told to come again"]


@pytest.mark.parametrize("named", [True, False], ids=["with a session", "without a session"])
def test_the_same_request_at_once_and_after_is_run_once(ground: Ground, named: bool) -> None:
    crowds.the_same_request(ground, 5, named=named)
