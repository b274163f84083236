"""Services that fail, by plan: the right code, in bounded attempts and time, and a session that is as before or has its turn."""

import random
import time

from tests.torture.checks import check, ends_well
from tests.torture.faults import MODEL, MODEL_KINDS, STORAGE, STORAGE_KINDS, Kind, Plan
from tests.torture.ground import Ground
from tests.torture.letters import posted
from tests.torture.processes import Answer

_SECONDS = 6.0  # of the function
_ATTEMPTS = 3  # of a model call
# calls of an operation: three attempts of each of three reservations, and of each of three saves
_MOST = {"Query": 9, "UpdateItem": 9}
_MOST_OF_OTHERS = 8
_STEPS = {"chat": 1, "letter": 2, "letters": 3}
_UNAVAILABLE = (503, "model_unavailable")
MODEL_CODES: dict[str, tuple[int, str]] = {
    "throttle": (429, "model_throttled"),
    "fail": (502, "model_error"),
    "silent": (504, "out_of_time"),
    "slow": (200, ""),
}
_STORAGE_DOWN = (503, "storage_unavailable")
_TOO_LATE = (504, "out_of_time")
# the operations without which a turn can't begin; a call that was made is found to have been made
STORAGE_CODES: dict[str, tuple[str, ...]] = {
    "Query": ("throttle", "error", "drop_before", "drop_after", "drop_middle", "garbage", "late", "silent"),
    "PutItem": ("throttle", "error", "drop_before", "silent"),
}
_ONCE_IS_ENOUGH = ("fail", "timeout", "silent")  # not tried again


def model_fails(ground: Ground, kind: Kind, *, once: bool = False) -> None:
    """Every call of the model fails, or the first."""
    plan = Plan(kind, MODEL, times=1 if once else 1_000)
    wanted = (200, "") if once and kind not in _ONCE_IS_ENOUGH else MODEL_CODES.get(kind, _UNAVAILABLE)
    answer = _turn(ground, plan, "chat", at_once=True)
    ground.tally.expect((answer.status, answer.code) == wanted, str(plan), f"got {answer} instead of {wanted}")


def storage_fails(ground: Ground, kind: Kind, operation: str) -> None:
    """Every call of an operation of the storage fails."""
    plan = Plan(kind, operation)
    down = _TOO_LATE if kind in ("silent", "late") else _STORAGE_DOWN  # three attempts take all of the turn's time
    wanted = down if kind in STORAGE_CODES.get(operation, ()) else (200, "")
    answer = _turn(ground, plan, "chat")
    ground.tally.expect((answer.status, answer.code) == wanted, str(plan), f"got {answer} instead of {wanted}")


def something_fails(ground: Ground, choice: random.Random) -> None:
    """Any fault, at any call, in a turn of any kind, perhaps after one that crashed, or in a session that is trimmed."""
    operation = choice.choice((MODEL, *STORAGE))
    crashed = operation == "GetItem" or choice.random() < 0.2  # whose item is read whole
    forgetful = operation == "DeleteItem" or choice.random() < 0.2
    kind: Kind = choice.choice(MODEL_KINDS if operation == MODEL else STORAGE_KINDS)
    plan = Plan(kind, operation, first=choice.choice((1, 1, 2, 3)), times=choice.choice((1, 1, 2, 1_000)))
    answer = _turn(ground, plan, choice.choice(tuple(_STEPS)), forgetful=forgetful, crashed=crashed)
    model = (*MODEL_CODES.values(), _UNAVAILABLE)
    wanted = model if operation == MODEL else ((200, ""), _STORAGE_DOWN, _TOO_LATE)
    ground.tally.expect((answer.status, answer.code) in wanted, str(plan), f"got {answer}")


def a_tool_hangs(ground: Ground) -> None:
    """The call is answered in time, the next invocation of the process works, and its end is not held up."""
    session, where = ground.session(), "a tool that hangs"
    events = [session.event(session.question(task)) for task in ("hang", "letter")]
    run = session.begin(events, tidy=True)
    answers = session.end(run)
    seconds = run.ended - run.began
    ground.tally.expect([answer.status for answer in answers] == [200, 200], f"{where} {session.tag}", f"got {answers}")
    status = answers[0].body["tool_uses"][0]["status"] if answers else ""
    ground.tally.expect(status == "error", f"{where} {session.tag}", f"the tool ended with {status!r}")
    ground.tally.expect(seconds < 8, f"{where} {session.tag}", f"it took {seconds:.1f} s, with a tool time-out of 1 s")
    check(session, where)


def _turn(
    ground: Ground, plan: Plan, task: str, *, at_once: bool = False, forgetful: bool = False, crashed: bool = False
) -> Answer:
    """A turn under a plan, in a session with some turns, and what must hold afterwards whatever came of it."""
    session, where, worker = ground.session(), str(plan), "forgetful" if forgetful else ""
    for _ in range(4 if forgetful else 1):
        session.ask(session.question("chat"), worker=worker)
    if crashed:
        session.ask(session.question("die"), worker=worker)
    session.traffic.calls.clear()
    began, question = time.monotonic(), session.question(task)
    ahead = 60 if crashed else 0  # beyond the lease of the crashed turn
    answer = session.ask(question, plan, seconds=_SECONDS, worker=worker, ahead=ahead)
    seconds = time.monotonic() - began
    if answer is None:
        ground.tally.expect(False, f"{where} {session.tag}", "the process died")
        return Answer(0, {})
    ground.tally.expect(seconds < _SECONDS, f"{where} {session.tag}", f"it took {seconds:.1f} s of {_SECONDS}")
    for operation, calls in session.traffic.calls.items():
        most = _ATTEMPTS * _STEPS[task] if operation == MODEL else _MOST.get(operation, _MOST_OF_OTHERS)
        ground.tally.expect(calls <= most, f"{where} {session.tag}", f"{calls} calls of {operation}")
    before = len(posted(ground.letters, session.tag))
    if answer.status == 200 and answer.body.get("saved", True):
        again = session.ask(question, ahead=ahead + 1)
        same = again is not None and again.body == answer.body
        ground.tally.expect(same, f"{where} {session.tag}", f"the same request got {again} after {answer}")
        after = len(posted(ground.letters, session.tag))
        ground.tally.expect(before == after, f"{where} {session.tag}", "a repeated request had side effects")
    ends_well(session, where, ahead=2 * 60, at_once=at_once)
    return answer
