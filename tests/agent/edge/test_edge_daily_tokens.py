"""CALLER_DAILY_TOKENS: what a caller may use in a day, over HTTP and directly."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from agent.adapters.dynamodb.meter import DynamoDBMeter
from agent.errors import ModelThrottledError, ModelUnavailableError, StorageUnavailableError
from agent.sessions.sessions import Sessions
from agent.sessions.tokens import DailyTokens
from tests.agent.edge.desk import DAY, FAULTS, Desk, fail, mend
from tests.agent.edge.gateway_events import error_code, http_api
from tests.agent.edge.test_edge_callers import jwt
from tests.agent.edge.whole_function import TABLE, Whole, running, unique
from tests.fakes import asks, reply, use

LIMIT = 100


@pytest.fixture(scope="module")
def one_function() -> Iterator[Whole]:
    with running(CALLER_DAILY_TOKENS=str(LIMIT)) as whole:
        yield whole


@pytest.fixture(scope="module")
def table(one_function: Whole) -> Any:
    """The desk has the function's table, so that nothing clashes."""
    return one_function.dynamodb


def dear(tokens: int) -> dict[str, Any]:
    return {"text": "Fine.", "usage": {"inputTokens": tokens, "outputTokens": 0, "totalTokens": tokens}}


def test_a_caller_whose_tokens_are_used_up_is_told_so_and_nothing_is_stored(whole: Whole) -> None:
    alice, session = jwt(unique("alice")), unique()
    ask = http_api(body={"question": "hi", "session_id": session}, **alice)
    whole.play(dear(LIMIT), dear(1))
    assert whole.http(ask)["statusCode"] == 200
    before = whole.dynamodb.scan(TableName=TABLE)["Items"]
    response = whole.http(ask)
    assert (response["statusCode"], error_code(response)) == (429, "model_throttled")
    message = json.loads(response["body"])["error"]["message"]
    assert message != ModelThrottledError.default
    assert "today" in message
    until_midnight = DAY - time.time() % DAY
    assert abs(int(response["headers"]["retry-after"]) - until_midnight) % DAY < 60
    assert whole.dynamodb.scan(TableName=TABLE)["Items"] == before
    assert len(whole.requests) == 1
    other = http_api(body={"question": "hi", "session_id": session}, **jwt(unique("bob")))
    assert whole.http(other)["statusCode"] == 200  # nobody else's are


def test_all_sessions_of_a_caller_count_together(whole: Whole) -> None:
    alice = jwt(unique("alice"))
    whole.play(dear(LIMIT - 1), dear(1))
    asks_ = [http_api(body={"question": "hi", "session_id": unique()}, **alice) for _ in range(3)]
    assert [whole.http(event)["statusCode"] for event in asks_] == [200, 200, 429]


def test_direct_invocations_are_counted_too(whole: Whole) -> None:
    whole.play(dear(LIMIT))
    assert whole.direct()["answer"] == "Fine."
    with pytest.raises(ModelThrottledError, match="today"):
        whole.direct()


def test_what_is_counted_is_no_session(whole: Whole) -> None:
    alice = jwt(unique("alice"))
    whole.http(http_api(body={"question": "hi", "session_id": unique()}, **alice))
    for item in whole.dynamodb.scan(TableName=TABLE)["Items"]:
        key = item["session_id"]["S"]
        if "tokens" in item:
            for name in (key, key.replace("#", "%23"), key.rpartition("#")[2], key[1:].replace("#", "/")):
                assert whole.http(http_api("GET", f"/sessions/{name}", **alice))["statusCode"] in (400, 404, 405)


class Metered:
    """A desk whose callers have a daily limit."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def sessions(self, *replies: Any) -> Sessions:
        meter = DynamoDBMeter(self.desk.client, TABLE)
        return replace(self.desk.sessions(*replies), tokens=DailyTokens(meter, LIMIT))

    def ask(self, *replies: Any, request: str = "", text: str = "hi") -> dict[str, Any]:
        question = replace(self.desk.question(text, request), caller=self.desk.key)
        return self.sessions(*replies).ask(question)

    def used(self) -> int:
        question = self.desk.question()
        return DynamoDBMeter(self.desk.client, TABLE).used(self.desk.key, self.desk.clock(), question.deadline)


@pytest.fixture
def metered(desk: Desk) -> Metered:
    return Metered(desk)


def test_the_next_day_begins_anew(metered: Metered) -> None:
    metered.ask(reply("one", tokens=LIMIT))
    with pytest.raises(ModelThrottledError):
        metered.ask()
    metered.desk.clock.advance(DAY)
    assert metered.ask(reply("two"))["turn"] == 2


@pytest.mark.parametrize(("seconds", "after"), [(0, DAY), (0.5, DAY), (1, DAY - 1), (DAY - 0.5, 1)])
def test_who_has_used_all_is_told_to_come_again_at_midnight(metered: Metered, seconds: float, after: int) -> None:
    metered.desk.clock.now = 20_000.0 * DAY + seconds
    metered.ask(reply("one", tokens=LIMIT))
    with pytest.raises(ModelThrottledError) as caught:
        metered.ask()
    assert caught.value.retry_after == after
    metered.desk.clock.advance(after)
    assert metered.ask(reply("two"))["answer"] == "two"


def test_a_repeated_request_gets_its_answer_though_the_tokens_are_used_up(metered: Metered) -> None:
    first = metered.ask(reply("one", tokens=LIMIT), request="r")
    assert metered.ask(request="r") == first


def test_a_turn_stops_where_the_days_tokens_end_and_says_so(metered: Metered) -> None:
    metered.ask(reply("one", tokens=LIMIT - 10))
    answer = metered.ask(asks(use("t1", "large", {"size": 1}), tokens=10))
    assert answer["stop_reason"] == "token_limit"
    assert "one question" not in answer["answer"]  # it isn't this question's limit that was reached


def test_a_turn_that_fails_is_counted_for_what_it_used(metered: Metered) -> None:
    with pytest.raises(ModelUnavailableError):
        metered.ask(asks(use("t1", "large", {"size": 1}), tokens=30), ModelUnavailableError())
    assert metered.used() == 30


def test_an_answer_is_not_lost_where_it_can_not_be_counted(metered: Metered) -> None:
    def counting(operation: str, count: int) -> BaseException | None:
        parameters = metered.desk.client.calls[-1][1]
        return FAULTS[0] if operation == "update_item" and "ADD" in parameters["UpdateExpression"] else None

    metered.desk.client.before = counting
    answer = metered.ask(reply("one", tokens=10))
    assert (answer["answer"], answer.get("saved", True)) == ("one", True)
    assert any("count" in message for message, _ in metered.desk.journal.warnings)
    mend(metered.desk)
    assert metered.used() == 0


def test_a_count_that_can_not_be_read_answers_no_question_and_stores_nothing(metered: Metered) -> None:
    fail(metered.desk, "get_item", FAULTS[0])
    with pytest.raises(StorageUnavailableError):
        metered.ask()
    mend(metered.desk)
    assert metered.desk.items() == []


def test_without_a_limit_nothing_is_counted(metered: Metered) -> None:
    metered.desk.ask(reply("one", tokens=10))
    assert metered.used() == 0
    assert metered.desk.client.operations[:3] == ["query", "put_item", "update_item"]
