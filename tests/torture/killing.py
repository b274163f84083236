"""Turns that are killed or frozen: at an instruction, at a call, after a time, in a tool. Then the session must go on."""

import random
import time

from tests.torture.checks import check_interrupted, ends_well
from tests.torture.faults import FREEZE, KILLS, MODEL, OF_EACH_TURN, Plan
from tests.torture.ground import Ground, Session
from tests.torture.letters import posted
from tests.torture.processes import Answer

TASKS = ("chat", "letter", "letters")


def instructions_of_a_turn(ground: Ground, task: str = "letters") -> int:
    """How many instructions of the function a turn takes that is not killed."""
    session = ground.session()
    answer = session.ask(session.question(task), traced=True)
    if answer is None or answer.status != 200:
        raise RuntimeError(f"a turn without any fault went wrong: {answer}")
    return answer.instructions


def killed_at_an_instruction(ground: Ground, number: int, task: str = "letters") -> None:
    """Dies before an instruction of the function; then a retry of the same request, and other questions."""
    session = _begun(ground)
    question = session.question(task)
    session.ask(question, kill_at=number)
    _goes_on(session, question, f"killed at instruction {number} of {task}")


def killed_at_a_call(ground: Ground, plan: Plan, task: str) -> None:
    """Dies before, after or while a call to the model or the storage is made."""
    session = _begun(ground)
    question = session.question(task)
    session.ask(question, plan)
    _goes_on(session, question, str(plan))


def any_kill_at_a_call(choice: random.Random) -> Plan:
    """A plan to kill at one of the first calls of an operation."""
    operation = choice.choice((MODEL, *OF_EACH_TURN))
    return Plan(choice.choice(KILLS), operation, first=choice.randint(1, 3), times=1)


def killed_after_a_time(ground: Ground, choice: random.Random, longest: float = 0.02) -> None:
    """Dies at any moment, in whatever code it is."""
    seconds = choice.uniform(0.005, longest)
    session = _begun(ground)
    question = session.question(choice.choice(TASKS))
    answers = session.end(session.begin([session.event(question)]), within=seconds)
    if not answers:
        ground.tally.count("kills")
        session.traffic.delivered = []
    _goes_on(session, question, f"killed after {seconds:.3f} s")


def killed_in_a_tool(ground: Ground, *, same: bool) -> None:
    """Dies while a tool with side effects runs: the same request, or another, is told, and nothing is done again."""
    where = f"killed in a tool, then {'the same' if same else 'another'} request"
    session = _begun(ground)
    question = session.question("die")
    died = session.ask(question) is None
    ground.tally.expect(died, f"{where} {session.tag}", "the tool did not end its process")
    answer = session.ask(question if same else session.question("chat"), ahead=60)
    check_interrupted(answer, f"{question} 1", session, where)
    letters = posted(ground.letters, session.tag)
    ground.tally.expect(letters == [f"{question} 1"], f"{where} {session.tag}", f"the letters are {letters}")
    ends_well(session, where)


def frozen(ground: Ground, step: int) -> None:
    """Stands still in a model call of a turn until another has taken it over: then it may change nothing any more."""
    session, where = _begun(ground), f"frozen in step {step}"
    question = session.question("letter")
    run = session.begin([session.event(question)], Plan(FREEZE, MODEL, first=step, times=1))
    stopped = session.traffic.frozen.wait(timeout=30)
    taken_over = session.ask(session.question("chat"), ahead=60)
    run.wake()
    late = next(iter(session.end(run)), Answer(0, {}))
    letters = posted(ground.letters, session.tag)
    where = f"{where} {session.tag}"
    ground.tally.expect(stopped, where, "it was not frozen")
    if step == 1:
        ground.tally.expect(late.code == "session_busy" and not letters, where, f"got {late}, posted {letters}")
    else:
        unsaved = late.status == 200 and late.body.get("saved") is False
        ground.tally.expect(unsaved and len(letters) == 1, where, f"got {late}, posted {letters}")
        check_interrupted(taken_over, f"{question} 1", session, where)
    ends_well(session, where, at_once=True)


def wait(answer: Answer) -> None:
    """As long as a caller was told to."""
    time.sleep(answer.retry_after or 0)


def _begun(ground: Ground) -> Session:
    """A session with one turn."""
    session = ground.session()
    answer = session.ask(session.question("chat"))
    ground.tally.expect(bool(answer and answer.status == 200), session.tag, f"the first turn got {answer}")
    return session


def _goes_on(session: Session, question: str, where: str) -> None:
    """Retries the same request once all leases have ended, before others or behind them."""
    tally = session.ground.tally
    first = session.ask(question)
    busy = first is not None and first.status == 409 and (first.retry_after or 0) >= 1
    tally.expect(busy or (first is not None and first.status == 200), f"{where} {session.tag}", f"at once: {first}")
    again = session.ask(question, ahead=60)
    tally.expect(again is not None and again.status == 200, f"{where} {session.tag}", f"the retry got {again}")
    if first and again and first.status == 200:
        tally.expect(first.body == again.body, f"{where} {session.tag}", f"two answers: {first} and {again}")
    ends_well(session, where)
