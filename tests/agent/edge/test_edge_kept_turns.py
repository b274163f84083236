"""What a turn costs and what is kept of it: calls, bytes, exactly N pairs, expiry, items too large."""

import json

import pytest

from agent.errors import (
    AgentError,
)
from agent.ports import DONE
from tests.agent.edge.desk import DAY, Desk
from tests.fakes import asks, reply, use


def test_a_turn_makes_four_calls_and_its_bytes_do_not_grow(desk: Desk) -> None:
    desk.pairs = 3
    sizes = []
    for number in range(1, 13):
        desk.client.calls.clear()
        desk.ask(reply("answer " * 300), text=f"question {number:03} " * 300)
        assert len(desk.client.calls) <= 4
        sizes.append(sum(len(json.dumps(parameters)) for _, parameters in desk.client.calls))
    assert desk.client.operations == ["query", "put_item", "update_item", "delete_item"]
    assert max(sizes[3:]) - min(sizes[3:]) <= 10  # the digits of a turn's number
    assert len(desk.items()) == 3


@pytest.mark.parametrize("pairs", [0, 1, 3])
def test_exactly_n_pairs_are_kept_and_sent(desk: Desk, pairs: int) -> None:
    desk.pairs = pairs
    for number in range(1, 7):
        answer = desk.ask(reply(f"answer {number}"), text=f"question {number}")
        assert "saved" not in answer
        assert desk.model
        messages = desk.model.requests[0].messages
        asked = [message["content"][0]["text"] for message in messages if message["role"] == "user"]
        assert asked == [f"question {n}" for n in range(max(1, number - pairs), number + 1)]
    assert [int(item["turn"]["N"]) for item in desk.items()] == list(range(7 - pairs, 7))


def test_fewer_pairs_than_before_are_trimmed_at_once(desk: Desk) -> None:
    for _ in range(8):
        desk.ask()
    desk.pairs = 2
    desk.ask()
    assert [int(item["turn"]["N"]) for item in desk.items()] == [8, 9]


def test_expired_items_count_for_numbering_only(desk: Desk) -> None:
    for number in range(1, 4):
        desk.ask(reply(f"answer {number}"))
    desk.clock.advance(DAY + 1)
    answer = desk.ask(reply("fresh"))
    assert answer["turn"] == 4
    assert desk.model
    assert len(desk.model.requests[0].messages) == 1
    assert [int(item["turn"]["N"]) for item in desk.items()] == [4]
    desk.clock.advance(DAY + 1)
    with pytest.raises(AgentError, match="Nothing is kept"):
        desk.sessions().read(desk.key)


def test_ttl_counts_from_the_answer_in_whole_seconds(desk: Desk) -> None:
    desk.ask()
    (item,) = desk.items()
    assert item["expires_at"] == {"N": str(int(desk.clock()) + DAY)}


def test_a_tool_output_of_500_kb_is_kept_shortened(desk: Desk) -> None:
    answer = desk.ask(asks(use("t1", "large", {"size": 500_000})), reply("done"))
    assert "saved" not in answer
    assert desk.statuses() == [DONE]
    assert desk.ask()["turn"] == 2
    assert desk.model
    assert any("toolResult" in message["content"][0] for message in desk.model.requests[0].messages)


def test_the_longest_question_and_a_long_answer_are_kept(desk: Desk) -> None:
    answer = desk.ask(reply("答" * 150_000), text="問" * 100_000)
    assert len(answer["answer"]) == 150_000
    assert "saved" not in answer
    assert desk.ask()["turn"] == 2
    assert desk.model
    assert len(desk.model.requests[0].messages) == 3


def test_a_question_is_answered_in_full_though_it_is_shortened_where_it_is_kept(desk: Desk) -> None:
    desk.ask(text="🌞" * 100_000)
    assert desk.model
    assert desk.model.requests[0].messages[0]["content"] == [{"text": "🌞" * 100_000}]
