"""Many requests at once: at one session, and the same one several times."""

import random
import time

from tests.torture.checks import check
from tests.torture.ground import Ground, Session
from tests.torture.letters import posted
from tests.torture.processes import Answer, Run


def many_at_one_session(ground: Ground, number: int = 20, *, hurry: float = 1.0, seconds: float = 8) -> None:
    """Different questions at once, in processes of their own; who is told to come again later does, until all are answered.

    `hurry` divides the time that they were told to wait.
    """
    session, where = ground.session(), f"{number} at one session"
    waiting = {question: session.event(question) for question in (session.question("slow") for _ in range(number))}
    choice = random.Random(number)
    turns: list[int] = []
    end = time.monotonic() + 120
    due = dict.fromkeys(waiting, 0.0)
    while waiting and time.monotonic() < end:
        time.sleep(max(0, min(due[question] for question in waiting) - time.monotonic()))
        now = time.monotonic()
        begun = {q: session.begin([event], seconds=seconds) for q, event in waiting.items() if due[q] <= now}
        for question, run in begun.items():
            answer = next(iter(session.end(run)), Answer(0, {}))
            if answer.status == 200:
                turns += [answer.body["turn"]] if answer.body.get("saved", True) else []  # else the next has its number
                del waiting[question]
                continue
            wait = answer.retry_after or 0
            busy = answer.status == 409 and answer.code == "session_busy" and wait >= 1
            ground.tally.expect(busy, f"{where} {session.tag}", f"got {answer}")
            ground.tally.count("told to come again")
            # some time apart, as clients should, lest they all come at once again
            due[question] = time.monotonic() + (wait or 1) / hurry * choice.uniform(1, 1.5)
    ground.tally.expect(not waiting, f"{where} {session.tag}", f"{len(waiting)} never got an answer")
    ground.tally.expect(sorted(turns) == list(range(1, len(turns) + 1)), f"{where} {session.tag}", f"turns {turns}")
    together = session.traffic.together
    ground.tally.expect(not together, f"{where} {session.tag}", f"{together} model calls ran beside another")
    check(session, where)


def the_same_request(ground: Ground, copies: int = 4, *, named: bool = True) -> None:
    """One request several times at once, and again after; without a session it has its invocation's id, as Lambda's retries."""
    session, where = ground.session(), f"the same request {'with' if named else 'without'} a session"
    question = session.question("letters")
    event = session.event(question) if named else ({"question": question}, f"invocation-{session.tag}")
    answers = _all(session, [session.begin([event]) for _ in range(copies)])
    answers += _all(session, [session.begin([event])])
    good = [answer for answer in answers if answer.status == 200]
    ground.tally.expect(bool(good) and good[-1] is answers[-1], f"{where} {session.tag}", f"at last got {answers[-1]}")
    for answer in answers:
        same = answer.status == 200 and answer.body == good[0].body
        busy = answer.code == "session_busy" and (answer.retry_after or 0) >= 1
        ground.tally.expect(same or busy, f"{where} {session.tag}", f"got {answer}, beside {good[:1]}")
    letters = posted(ground.letters, session.tag)
    ground.tally.expect(letters == [f"{question} 1", f"{question} 2"], f"{where} {session.tag}", f"posted {letters}")
    calls = session.traffic.calls["Converse"]
    ground.tally.expect(calls == 3, f"{where} {session.tag}", f"{calls} model calls for one turn of three")
    if named:
        check(session, where)


def _all(session: Session, runs: list[Run]) -> list[Answer]:
    return [answer for run in runs for answer in session.end(run)]
