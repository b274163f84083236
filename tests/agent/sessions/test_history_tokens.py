"""HISTORY_TOKENS: what older turns may cost, results of tools first."""

import itertools
import logging

from hypothesis import given
from hypothesis import strategies as st

from agent.deadline import Deadline
from agent.messages import Message, Usage, assistant_text, user_text
from agent.ports import ModelReply
from agent.sessions.history import characters, fitted
from agent.sessions.leases import Question
from agent.sessions.sessions import Sessions
from agent.tooling.tool import tool
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn.loop import Limits
from agent.turn.repair import repair
from tests.fakes import FakeJournal, FakeModel, FakeStore, asks, reply, use

_NOTE = "taken out of the history"


def _turn(number: int, size: int) -> list[Message]:
    result = {"toolResult": {"toolUseId": f"t{number}", "content": [{"text": "x" * size}], "status": "success"}}
    return [
        user_text(f"question {number}"),
        {"role": "assistant", "content": [use(f"t{number}", "look")]},
        {"role": "user", "content": [result]},
        assistant_text(f"answer {number}"),
    ]


def test_results_of_older_turns_go_before_any_turn_does() -> None:
    history = [_turn(1, 2000), _turn(2, 2000)]
    allowed = characters(history[1]) + 700
    kept = fitted(history, allowed, 1.0)
    assert [turn[0] for turn in kept] == [user_text("question 1"), user_text("question 2")]
    assert _NOTE in str(kept[0])
    assert kept[1] == history[1]


def test_the_oldest_turns_go_where_that_is_not_enough() -> None:
    kept = fitted([_turn(n, 2000) for n in (1, 2, 3)], 700, 1.0)
    assert [turn[0] for turn in kept] == [user_text("question 3")]


def test_what_fits_stays_as_it_is() -> None:
    history = [_turn(1, 10), _turn(2, 10)]
    assert fitted(history, 10_000, 1.0) == history


@given(st.lists(st.integers(1, 500), max_size=6), st.integers(1, 3000), st.floats(0.1, 2))
def test_it_costs_no_more_than_allowed_and_keeps_turns_whole(sizes: list[int], tokens: int, rate: float) -> None:
    kept = fitted([_turn(number, size) for number, size in enumerate(sizes)], tokens, rate)
    assert sum(characters(turn) for turn in kept) * rate <= tokens
    for turn in kept:
        assert repair(turn, set()) == turn


def _costs(text: str, tokens: int) -> ModelReply:
    return ModelReply([{"text": text}], "end_turn", Usage(input_tokens=tokens, output_tokens=10), "m")


def test_a_session_sends_less_once_the_model_says_what_its_history_costs() -> None:
    @tool
    def look() -> str:
        """Looks."""
        return "y" * 4000

    def sessions(model: FakeModel) -> Sessions:
        return Sessions(
            models=[model],
            store=store,
            toolbox=Toolbox([look], ToolLimits()),
            journal=FakeJournal(),
            logger=logging.getLogger("agent"),
            system="Be brief.",
            limits=Limits(),
            pairs=10,
            ttl_seconds=1000,
            new_id=lambda: f"lease {next(leases)}",
            history_tokens=500,
        )

    def question(number: int) -> Question:
        return Question("s", "s", f"r{number}", "", f"question {number}", Deadline.after(60))

    leases, store = itertools.count(), FakeStore()
    sessions(FakeModel([asks(use("t1", "look")), _costs("seen", 1500)])).ask(question(1))
    model = FakeModel([reply("again")])
    answer = sessions(model).ask(question(2))
    assert "yyyy" not in str(model.requests[0].messages)
    assert _NOTE in str(model.requests[0].messages)
    assert answer["answer"] == "again"
    assert set(answer["usage"]) == set(Usage().as_dict())
    assert [set(turn["usage"]) for turn in sessions(model).read("s")] == [set(Usage().as_dict())] * 2
