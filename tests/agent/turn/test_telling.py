"""What is told of a reply while it is written: in the end just what a person is shown, and hardly ever taken back."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import assistant_text, clean_text, visible_text
from agent.turn.telling import Telling
from tests.fakes import FakeClock, Heard


def told(*pieces: str, said: str | None = None) -> Heard:
    """What is heard of a reply in these pieces."""
    heard = Heard()
    telling = Telling(heard)
    telling.begin(1)
    for piece in pieces:
        telling.text(piece)
    whole = clean_text("".join(pieces))
    telling.end(visible_text(assistant_text(whole)) if said is None else said)
    return heard


def test_text_is_told_as_it_comes() -> None:
    heard = told("The sine", " of 1 is", " 0.84.")
    assert [data["text"] for _, data in heard.events] == ["The sine", " of 1 is", " 0.84."]


@pytest.mark.parametrize(
    "pieces",
    [
        ("<thinking>hm</thinking>Yes.",),
        ("<thin", "king>hm</thi", "nking>", "  \n", "Yes."),
        ("  \n", "Yes.", "\n", "\n"),
        ("<thinking>a</thinking> <thinking>b</thinking> Yes.",),
        ("Yes", ".", "\n<thinking>", "is that all?", "</thinking>", "\n"),
        ("", "Yes", "", "."),
    ],
)
def test_thoughts_and_the_blanks_around_an_answer_are_never_told(pieces: tuple[str, ...]) -> None:
    heard = told(*pieces)
    assert heard.shown[1] == "Yes."
    assert heard.names == ["text"]


def test_a_tag_that_never_closes_is_told_at_the_end_for_it_is_shown() -> None:
    assert told("a <thinking> b", " c").shown[1] == "a <thinking> b c"
    assert told("1 <", " 2 <t").shown[1] == "1 < 2 <t"


def test_code_that_shows_thinking_tags_is_told_in_the_end() -> None:
    code = "Write `<thinking>x</thinking>` so."
    assert told(code[:9], code[9:]).shown[1] == code


_PIECES = st.lists(
    st.one_of(
        st.sampled_from(["<thinking>", "</thinking>", "<", "think", "`", "```", "\n", " ", "\ud83d", "\ude00", "ing>"]),
        st.text(max_size=5),
        st.characters(),
    ),
    max_size=30,
)


@given(_PIECES)
def test_whatever_is_written_a_person_is_shown_just_the_answer(pieces: list[str]) -> None:
    heard = told(*pieces)
    assert heard.shown[1] == visible_text(assistant_text(clean_text("".join(pieces))))
    assert all(data["text"].encode() for name, data in heard.events if name == "text")


def test_half_of_a_character_waits_for_the_other() -> None:
    heard = told("\ud83d", "\ude00!")
    assert [data["text"] for _, data in heard.events] == ["\U0001f600!"]


def test_what_does_not_count_in_the_end_is_taken_back() -> None:
    heard = told("Half an ans", said="")
    assert [name for name, _ in heard.events] == ["text", "void"]
    assert told("One answer", said="Another").shown[1] == "Another"


def test_a_reply_that_begins_anew_takes_back_what_was_told_once() -> None:
    heard = Heard()
    telling = Telling(heard)
    telling.begin(2)
    telling.void()
    telling.text("Half <thinking>")
    telling.void()
    telling.void()
    telling.text("Whole.")
    telling.end("Whole.")
    assert heard.events == [
        ("text", {"step": 2, "text": "Half"}),
        ("void", {"step": 2}),
        ("text", {"step": 2, "text": "Whole."}),
    ]


def test_a_thread_that_was_left_behind_is_heard_no_more() -> None:
    heard = Heard()
    telling = Telling(heard)
    telling.begin(1)
    telling.end("")
    telling.text("too late")
    telling.void()
    assert heard.events == []


def test_a_model_that_streams_nothing_is_told_whole() -> None:
    assert told(said="All of it.").events == [("text", {"step": 1, "text": "All of it."})]


def test_the_time_of_the_first_text_is_kept() -> None:
    clock = FakeClock()
    telling = Telling(Heard(), clock)
    telling.begin(1)
    clock.advance(2)
    telling.text("<thinking>")
    assert telling.first_text is None
    telling.text("</thinking>a")
    clock.advance(2)
    telling.text("b")
    assert telling.first_text == 2


@pytest.mark.parametrize(
    "piece", ["word ", " ", "\n", "<thinking>", "<thinking>a", "</thinking>", "<", "```<thinking>`"]
)
def test_a_long_text_is_told_in_linear_time(piece: str) -> None:
    def seconds(characters: int) -> float:
        began = time.process_time()
        told(*[piece] * (characters // len(piece)), said="")
        return time.process_time() - began

    # ten times as much takes about ten times as long, not a hundred times
    assert seconds(100_000) < 40 * max(seconds(10_000), 0.03)


@pytest.mark.parametrize("tag", ["think", "reasoning"])
def test_what_other_models_think_is_not_told_either(tag: str) -> None:
    heard = told(f"<{tag}>hm", f" hm</{tag}>", "\n\nYes.", said="Yes.")
    assert heard.events == [("text", {"step": 1, "text": "Yes."})]
