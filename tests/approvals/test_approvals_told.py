"""Who is to decide is told by a topic, once, after the turn is saved."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from agent.adapters.topic import SNSTopic
from agent.aws.errors import CallError, ServiceError, TimedOutError
from agent.deadline import Deadline
from agent.errors import ModelThrottledError, StorageUnavailableError
from agent.sessions.sessions import Sessions
from tests.approvals.office import Office
from tests.fakes import FakeClock, asks, reply, use

ENTRY = {"approval_id": "a" * 32, "tool_use_id": "t1", "tool": "refund", "input": {"order": "é"}, "expires_at": "2027"}
TOPIC = "arn:aws:sns:us-east-1:123456789012:approvals"
SOON = FakeClock().deadline(9)


class Client:
    """A client of SNS that remembers, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self.calls: list[tuple[str, dict[str, str]]] = []
        self.error = error

    def query(self, operation: str, parameters: dict[str, str], deadline: Deadline) -> bytes:
        self.calls.append((operation, parameters))
        if self.error:
            raise self.error
        return b""


def told(entries: Sequence[dict[str, Any]], *, with_input: bool) -> Any:
    client: Any = Client()
    SNSTopic(client, TOPIC, with_input=with_input).announce("s", "caller", entries, SOON)
    ((operation, parameters),) = client.calls
    assert (operation, parameters.keys(), parameters["TopicArn"]) == ("Publish", {"TopicArn", "Message"}, TOPIC)
    assert len(parameters["Message"].encode()) <= 262_144
    return json.loads(parameters["Message"])


def test_the_message_names_what_waits_and_tells_no_input() -> None:
    entry = {name: ENTRY[name] for name in ("approval_id", "tool", "expires_at")}
    assert told([ENTRY], with_input=False) == {"session_id": "s", "caller": "caller", "approvals": [entry]}


def test_the_input_is_told_where_content_is_logged() -> None:
    assert told([ENTRY], with_input=True)["approvals"][0]["input"] == {"order": "é"}


def test_a_message_that_would_be_too_large_is_told_without_input() -> None:
    large = {**ENTRY, "input": {"order": "あ" * 100_000}}
    assert "input" not in told([ENTRY, large], with_input=True)["approvals"][0]


@pytest.mark.parametrize("error", [TimedOutError("late"), ServiceError(403, "AuthorizationError", "no")])
def test_a_topic_that_can_not_be_told_is_an_error_of_ours(error: CallError) -> None:
    client: Any = Client(error)
    with pytest.raises(StorageUnavailableError) as caught:
        SNSTopic(client, TOPIC, with_input=False).announce("s", "caller", [ENTRY], SOON)
    assert TOPIC in caught.value.detail
    assert TOPIC not in caught.value.message


class Announcer:
    """Remembers what it is told, and what was stored by then."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.told: list[tuple[str, str, list[dict[str, Any]]]] = []
        self.statuses: list[str] = []
        self.fails = False
        self.seconds: list[float] = []

    def announce(self, session_id: str, caller: str, approvals: Sequence[dict[str, Any]], deadline: Deadline) -> None:
        self.told.append((session_id, caller, list(approvals)))
        self.statuses = self.office.statuses()
        self.seconds.append(deadline.left())
        if self.fails:
            raise StorageUnavailableError(detail="the topic is gone")


class Telling(Office):
    """An office with an announcer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.announcer = Announcer(self)

    def sessions(self) -> Sessions:
        return replace(super().sessions(), announcer=self.announcer)


@pytest.fixture
def telling(office: Office) -> Telling:
    return Telling(office.client)


def test_who_decides_is_told_once_after_the_turn_is_saved(telling: Telling) -> None:
    answer = telling.wait(request="r")
    assert telling.announcer.told == [(telling.key, "owner", answer["approvals"])]
    assert telling.announcer.statuses == ["awaiting_approval"]
    telling.ask(request="r")
    assert len(telling.announcer.told) == 1


def test_each_wait_is_told_and_nothing_else(telling: Telling) -> None:
    telling.ask(reply("hello"))
    telling.wait(use("t1", "refund", {"order": "1"}), use("t2", "refund", {"order": "2"}))
    telling.approve(t1=True)
    assert len(telling.announcer.told) == 1  # half a decision begins no other wait
    telling.approve(asks(use("t3", "refund", {"order": "3"})), t2=True)
    assert [len(entries) for _, _, entries in telling.announcer.told] == [2, 1]
    telling.approve(reply("Done."), t3=True)
    assert len(telling.announcer.told) == 2


def test_a_topic_that_fails_costs_nothing_but_a_warning(telling: Telling) -> None:
    telling.announcer.fails = True
    answer = telling.wait()
    assert answer.get("saved", True)
    assert any("told" in message for message, _ in telling.journal.warnings)
    telling.approve(reply("Done."), t1=True)
    assert telling.ran == ["refund 7 1"]


def test_what_could_not_be_saved_is_not_told(telling: Telling) -> None:
    telling.client.before = lambda name, count: TimedOutError("late") if name == "update_item" else None
    assert telling.wait()["saved"] is False
    assert telling.announcer.told == []


def test_a_turn_that_fails_tells_nobody(telling: Telling) -> None:
    with pytest.raises(ModelThrottledError):
        telling.ask(ModelThrottledError())
    assert telling.announcer.told == []


def test_telling_has_a_share_of_what_is_left_with_the_reserve(telling: Telling) -> None:
    telling.wait()
    assert telling.announcer.seconds == [(60 + telling.clock.deadline(60).reserve) / 2]
