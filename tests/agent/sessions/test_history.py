"""Which turns the model sees: the last N, whole, and nothing in them that a model would refuse."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.messages import Message, assistant_text, tool_result, user_text
from agent.ports import BLOCKED, DONE, RUNNING, WAITING, StoredTurn
from agent.sessions.history import completed, model_history
from tests.agent.turn.strategies import EXAMPLES, STORED_MESSAGES
from tests.agent.turn.turns import ask_again
from tests.fakes import thought, use

_NOW = 1_000_000.0


def _turn(number: int, status: str = DONE, messages: Any = None, **more: Any) -> StoredTurn:
    messages = [user_text(f"q{number}"), assistant_text(f"a{number}")] if messages is None else messages
    return StoredTurn("s", number, status, question=f"q{number}", messages=messages, **more)


def _with_rounds(number: int, rounds: int, status: str = DONE) -> StoredTurn:
    messages: list[Message] = [user_text(f"q{number}")]
    for each in range(rounds):
        messages += [
            {"role": "assistant", "content": [{"text": "so"}, use(f"t{each}")]},
            {"role": "user", "content": [tool_result(f"t{each}", "x", "success")]},
        ]
    return _turn(number, status, [*messages, assistant_text(f"a{number}")])


def _questions(history: list[list[Message]]) -> list[str]:
    return [
        block["text"]
        for turn in history
        for m in turn
        if m["role"] == "user"
        for block in m["content"]
        if "text" in block
    ]


@pytest.mark.parametrize(
    ("pairs", "told"), [(0, []), (1, ["q3"]), (2, ["q2", "q3"]), (3, ["q1", "q2", "q3"]), (100, ["q1", "q2", "q3"])]
)
def test_a_pair_is_a_whole_turn_however_many_tool_rounds_it_has(pairs: int, told: list[str]) -> None:
    turns = [_turn(3), _with_rounds(2, rounds=3), _turn(1)]
    assert _questions(model_history(completed(turns, pairs, _NOW), set())) == told


_TURNS = st.lists(
    st.tuples(
        st.sampled_from([DONE, DONE, DONE, BLOCKED, RUNNING, WAITING, "nonsense"]),
        st.sampled_from([0, int(_NOW) - 1, int(_NOW) + 9]),
        st.one_of(st.none(), st.integers(0, 3), STORED_MESSAGES),
        st.sampled_from([None, {}, {"answer": "told"}, {"answer": " "}, {"answer": 5}]),
    ),
    max_size=6,
)


@settings(EXAMPLES, max_examples=60)
@given(_TURNS, st.integers(0, 7))
def test_trimming_keeps_pairs_whole_for_any_session_and_any_n(kept: list[Any], pairs: int) -> None:
    turns = [
        StoredTurn(
            "s",
            number,
            status,
            question=f"q{number}",
            messages=_with_rounds(number, messages).messages if isinstance(messages, int) else messages,
            response=response,
            expires_at=expires_at,
        )
        for number, (status, expires_at, messages, response) in reversed(list(enumerate(kept, 1)))
    ]
    newest = completed(turns, pairs, _NOW)
    history = model_history(newest, set())
    assert len(newest) <= pairs
    assert newest == [t for t in turns if t.status in (DONE, BLOCKED) and t.expires_at in (0, int(_NOW) + 9)][:pairs]
    assert len(history) <= sum(turn.status == DONE for turn in newest)
    assert all(turn[0]["role"] == "user" and turn[-1]["role"] == "assistant" for turn in history)
    ask_again(history)


def test_ids_that_several_turns_use_become_unique() -> None:
    history = model_history([_with_rounds(2, 2), _with_rounds(1, 2)], set())
    ids = [b["toolUse"]["toolUseId"] for turn in history for m in turn for b in m["content"] if "toolUse" in b]
    assert len(set(ids)) == len(ids) == 4


def test_a_turn_that_a_guardrail_stopped_is_never_sent_again() -> None:
    history = model_history([_turn(3), _turn(2, BLOCKED), _turn(1)], set())
    assert _questions(history) == ["q1", "q3"]


def test_reasoning_of_older_turns_is_not_sent() -> None:
    messages = [user_text("q1"), {"role": "assistant", "content": [thought(), {"text": "a1"}]}]
    assert model_history([_turn(1, messages=messages)], set()) == [[user_text("q1"), assistant_text("a1")]]


@pytest.mark.parametrize("messages", [None, [], [assistant_text("a")], [5], [{"role": "user", "content": "q"}]])
def test_a_turn_whose_messages_cannot_be_read_is_left_out(messages: Any) -> None:
    lost = StoredTurn("s", 1, DONE, question="q1", messages=messages, response={"answer": "a1"})
    assert model_history([_turn(2), lost], set()) == [_turn(2).messages]
