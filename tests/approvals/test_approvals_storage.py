"""Approvals where the table fails, and calls that are too large for it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agent.errors import AgentError, ModelThrottledError, StorageUnavailableError
from agent.tooling.tool import tool
from agent.tooling.toolbox import ToolLimits
from tests.agent.edge.desk import FAULTS
from tests.approvals.office import Office, thinking_refund
from tests.fakes import asks, reply, thought, use

ALWAYS = 99


def fail(office: Office, operation: str, *, made: bool, times: int = ALWAYS) -> None:
    """Has the next calls fail: unmade, or made with their answers lost."""
    first = office.client.count(operation)

    def plan(name: str, count: int) -> Exception | None:
        return FAULTS[-1] if name == operation and count <= first + times else None

    if made:
        office.client.after = plan
    else:
        office.client.before = plan


@pytest.mark.parametrize("operation", ["query", "put_item"])
def test_an_approval_that_the_table_does_not_take_can_be_sent_again(office: Office, operation: str) -> None:
    office.wait()
    fail(office, operation, made=False)
    with pytest.raises(StorageUnavailableError):
        office.approve(t1=True)
    assert (office.ran, office.statuses()) == ([], ["awaiting_approval"])
    assert office.journal.approvals == []
    office.mend()
    office.approve(reply("Done."), t1=True)
    assert office.ran == ["refund 7 1"]


def test_an_approval_whose_reservation_got_lost_is_run_at_most_once(office: Office) -> None:
    office.wait()
    fail(office, "put_item", made=True)
    office.script.left.append(reply("Done."))
    try:
        office.approve(t1=True)
    except AgentError:
        office.mend()
        office.clock.advance(70)
        office.approve(t1=True)
    assert len(office.ran) <= 1
    office.mend()
    office.goes_on()


def test_a_reservation_whose_answer_got_lost_is_still_ours(office: Office) -> None:
    office.wait()
    fail(office, "put_item", made=True, times=1)
    assert office.approve(reply("Done."), t1=True)["answer"] == "Done."
    assert office.ran == ["refund 7 1"]


@pytest.mark.parametrize("made", [False, True])
def test_an_answer_that_can_not_be_saved_reaches_the_caller_and_the_call_is_not_run_again(
    office: Office, made: bool
) -> None:
    office.wait()
    fail(office, "update_item", made=made)
    answer = office.approve(reply("Done."), t1=True)
    assert (answer["answer"], office.ran) == ("Done.", ["refund 7 1"])
    assert answer.get("saved", True) is made  # what was made is read back
    office.mend()
    office.clock.advance(70)
    office.script.left.append(reply("I don't know."))
    office.approve(t1=True)
    office.script.left.clear()
    assert office.ran == ["refund 7 1"]
    office.goes_on()


def test_a_turn_that_can_not_be_saved_as_waiting_says_so_and_leaves_nothing(office: Office) -> None:
    fail(office, "update_item", made=False)
    answer = office.wait(request="r")
    assert answer["saved"] is False
    office.mend()
    with pytest.raises(AgentError) as caught:
        office.approve(t1=True)
    assert caught.value.code == "not_found"
    office.goes_on()
    assert office.ran == []


def test_half_an_answer_that_can_not_be_saved_is_an_error_and_decides_nothing(office: Office) -> None:
    office.wait(use("t1", "refund", {"order": "1"}), use("t2", "refund", {"order": "2"}))
    office.client.before = lambda name, count: FAULTS[-1] if name in ("update_item", "put_item") else None
    with pytest.raises(StorageUnavailableError):
        office.approve(t1=True)
    office.mend()
    answer = office.approve(t2=True)
    assert [each["tool_use_id"] for each in answer["approvals"]] == ["t1"]


def test_a_question_whose_closing_of_a_waiting_turn_fails_is_an_error_and_the_turn_still_waits(office: Office) -> None:
    office.wait()
    fail(office, "put_item", made=False)
    with pytest.raises(StorageUnavailableError):
        office.ask(text="and something else?")
    office.mend()
    assert office.statuses() == ["awaiting_approval"]
    office.approve(reply("Done."), t1=True)
    assert office.ran == ["refund 7 1"]


def test_a_model_that_fails_while_the_table_does_too_has_the_call_run_once(office: Office) -> None:
    office.wait()
    fail(office, "update_item", made=False)
    with pytest.raises(ModelThrottledError):
        office.approve(ModelThrottledError(), t1=True)
    office.mend()
    office.clock.advance(70)
    office.approve(reply("I don't know."), t1=True)
    assert office.ran == ["refund 7 1"]


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Ends what runs in Python for longer."""

    def end(*_: object) -> None:
        pytest.fail(f"it did not end within {seconds} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("size", [20_000, 60_000, 99_000, 180_000, 400_000])
@pytest.mark.parametrize("letter", ["x", "あ", "\x01"], ids=["one byte", "three bytes", "six bytes"])
def test_a_call_that_is_too_large_to_be_kept_is_never_lost_in_silence(office: Office, size: int, letter: str) -> None:
    order = letter * size
    with within(5):
        answer = office.ask(asks(use("t1", "refund", {"order": order})), reply("Too long."))
        if answer["stop_reason"] == "awaiting_approval":
            office.script.left.clear()
            office.approve(reply("Done."), t1=True)
            assert office.ran == [f"refund {order} 1"]
        else:
            assert (answer["tool_uses"][0]["status"], office.ran) == ("error", [])
        office.goes_on()


@pytest.mark.parametrize("results", [1, 2])
def test_a_turn_waits_only_where_it_can_be_kept_with_its_reasoning(office: Office, results: int) -> None:
    @tool
    def large() -> str:
        """Returns a long text."""
        return "x" * 200_000

    office.more_tools = [large]
    office.tool_limits = ToolLimits(result_max_chars=200_000)
    first = asks(thought(), *(use(f"t{number}", "large") for number in range(2, 2 + results)))
    answer = office.ask(first, thinking_refund())
    if results == 1:
        assert office.approve(reply("Done."), t1=True)["answer"] == "Done."
        assert office.ran == ["refund 1 1"]
    else:  # 400,000 characters
        assert answer["saved"] is False
        assert "approvals" not in answer
        assert office.ran == []
    office.goes_on()


def test_many_calls_are_kept_or_refused_as_a_whole(office: Office) -> None:
    uses = [use(f"t{number}", "refund", {"order": f"{number:06}" + "x" * 12_000}) for number in range(32)]
    with within(5):
        answer = office.ask(asks(*uses), reply("Too much."))
        if answer["stop_reason"] == "awaiting_approval":
            office.script.left.clear()
            office.decide({f"t{number}": True for number in range(32)}, reply("Done."))
            assert len(office.ran) == 32
        office.goes_on()
