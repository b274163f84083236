"""Of a ReAct reply only what is surely the answer is told while it is written, and nothing of it is taken back."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.adapters.react.hearing import Hearing
from agent.adapters.react.model import ReActModel
from agent.adapters.react.reading import read
from agent.deadline import Deadline
from agent.messages import user_text
from agent.ports import ModelRequest
from agent.turn.telling import Telling
from tests.fakes import FakeModel, Heard, reply

SCHEMAS = {"sine": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}}
SPEC = {"toolSpec": {"name": "sine", "description": "The sine.", "inputSchema": {"json": SCHEMAS["sine"]}}}


def heard(text: str, size: int = 3) -> tuple[Heard, str]:
    """What is told of a reply in pieces of this size, and what was told before the reply was whole."""
    told = Heard()
    telling = Telling(told)
    telling.begin(1)
    hearing = Hearing(telling)
    for start in range(0, len(text), size):
        hearing.text(text[start : start + size])
    early = told.shown[1]
    telling.end(read(text, SCHEMAS).answer)
    return told, early


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize(
    ("text", "early"),
    [
        ("Thought: easy\nFinal Answer: The sine of 1 is 0.84.", "The sine of 1 is 0.84."),
        ("Final Answer: One.\n\n- two\n- three", "One.\n\n- two"),
        ("思考: わかる\n最終回答: 答えは 42 です。", "答えは 42 です。"),
        ("**Final Answer: 42 it is**", "42 it is"),
        ("Final Answer: Yes, all of it.\nThought: more", "Yes, all of it."),
        # what may become a label waits until it is none
        (
            "Final Answer: Thoughts are free.\nThoughts are what nobody can guess",
            "Thoughts are free.\nThoughts are what nobody can guess",
        ),
        ("Final Answer: Though small\nthough", "Though small"),
    ],
)
def test_an_answer_is_told_as_it_comes(text: str, early: str, size: int) -> None:
    told, before = heard(text, size)
    assert before.strip() == early
    assert told.shown[1] == read(text, SCHEMAS).answer
    assert "void" not in told.names


@pytest.mark.parametrize(
    "text",
    [
        'Thought: I look.\nAction: sine\nAction Input: {"x": 1}',
        'Action: sine\nAction Input: {"x": 1}\nFinal Answer: none of this',
        "Thought: I will give the Final Answer: soon",
        "Observation: 3\nFinal Answer: x",
        "<think>Final Answer: no, not yet</think>\nThought: hm",
        "Just a sentence without a label.",
    ],
)
def test_what_may_not_be_the_answer_is_not_told_before_all_is_there(text: str) -> None:
    told, before = heard(text)
    assert before == ""
    assert told.shown[1] == read(text, SCHEMAS).answer


_PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            ["Thought:", "Final Answer:", "Action: sine\n", "Action Input:", "Observation:", "\n", "**", " "]
        ),
        st.sampled_from(["<think>", "</think>", "思考：", "最終回答:", "thoughts", "th", "x. ", "- ", "{}", "\r\n"]),
        st.text(max_size=4),
    ),
    max_size=14,
)


@given(_PIECES, st.integers(1, 9))
def test_whatever_is_written_the_answer_is_shown_in_the_end(pieces: list[str], size: int) -> None:
    text = "".join(pieces).encode(errors="replace").decode()
    told, _ = heard(text, size)
    assert told.shown[1] == read(text, SCHEMAS).answer.strip()


def test_a_reply_that_is_sent_back_is_taken_back_and_the_next_is_heard() -> None:
    told = Heard()
    telling = Telling(told)
    telling.begin(1)
    model = FakeModel([reply("Action: sine"), reply("Final Answer: So it is.")], model_ids=())
    answer = ReActModel(model).converse(ModelRequest("", [user_text("hi")], [SPEC]), Deadline.after(60), telling)
    telling.end("So it is.")
    assert answer.content == [{"text": "So it is."}]
    assert told.shown[1] == "So it is."


@pytest.mark.parametrize("piece", ["word ", "\n", "Thought:", "x: ", "Final Answer: ", "*", "th\n"])
def test_a_long_reply_is_heard_in_linear_time(piece: str) -> None:
    def seconds(characters: int, start: str) -> float:
        began = time.process_time()
        heard(start + piece * (characters // len(piece)), len(piece))
        return time.process_time() - began

    for start in ("", "Final Answer: x\n"):
        assert seconds(50_000, start) < 40 * max(seconds(5_000, start), 0.03)
