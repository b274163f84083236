"""Letters that somebody has to agree to: with a yes, a no, twice, late, by another, killed on the way, beside a question."""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from tests.torture.checks import ends_well
from tests.torture.faults import KILLS, MODEL, OF_EACH_TURN, STORAGE_KINDS, Kind, Plan
from tests.torture.ground import BOSS, Ground, Session
from tests.torture.letters import posted
from tests.torture.processes import Answer
from tests.torture.witness import WITH_LEAVE

_TTL = 24 * 60 * 60 + 1.0  # seconds, APPROVAL_TTL_SECONDS and one
_EVE = {"authorizer": {"jwt": {"claims": {"iss": "https://issuer.example", "sub": "eve"}}}}
_AFTER_A_LEASE = 60.0
Verdicts = Mapping[str, bool]


def decided(ground: Ground, choice: random.Random, worker: str = "") -> None:
    """Each is decided, at once or one by one; then all of it again, the contrary, and what was never asked."""
    session, where = ground.session(), "decided"
    entries = _wait(session, choice.choice(("pay", "pair")), worker=worker)
    verdicts = {entry["approval_id"]: choice.random() < 0.6 for entry in entries}
    parts = [verdicts] if choice.random() < 0.5 else [{name: verdict} for name, verdict in verdicts.items()]
    answer = Answer(0, {})
    for part in parts:
        answer = _say(session, entries, part, worker=worker)
    _expect(session, where, answer.status == 200 and answer.body["stop_reason"] == "end_turn", f"got {answer}")
    wanted = sorted(entry["input"]["text"] for entry in entries if verdicts[entry["approval_id"]])
    _expect(session, where, sorted(_letters(session)) == wanted, f"posted {_letters(session)} instead of {wanted}")
    known = worker != "without memory"
    again = _say(session, entries, verdicts, worker=worker)
    fine = again.body == answer.body if known else again.code == "not_found"
    _expect(session, where, fine, f"again: {again} after {answer}")
    contrary = _say(session, entries, {name: not verdict for name, verdict in verdicts.items()}, agrees=False)
    _expect(session, where, contrary.code == ("invalid_request" if known else "not_found"), f"then got {contrary}")
    _expect(session, where, sorted(_letters(session)) == wanted, f"then posted {_letters(session)}")
    if known:
        ends_well(session, where, at_once=True)


def an_old_yes(ground: Ground) -> None:
    """Two calls one after the other, with the same id of the model's: the first yes is good for the first alone."""
    session, where = ground.session(), "an old yes"
    first = _wait(session, "pays")
    yes = {first[0]["approval_id"]: True}
    answer = _say(session, first, yes)
    _expect(session, where, answer.body.get("stop_reason") == "awaiting_approval", f"got {answer}")
    for _ in range(2):
        again = _say(session, first, yes)
        _expect(session, where, again.body == answer.body, f"again: {again}")
    _expect(session, where, len(_letters(session)) == 1, f"posted {_letters(session)}")
    second = answer.body.get("approvals", [])
    _say(session, second, {entry["approval_id"]: True for entry in second})
    _expect(session, where, len(_letters(session)) == 2, f"posted {_letters(session)}")
    ends_well(session, where, at_once=True)


def an_old_yes_again(ground: Ground) -> None:
    """The very same question once the turn with its yes is gone: the call looks the same, and needs a yes of its own."""
    session, where = ground.session(), "an old yes again"
    question = session.question("pay")
    first = _asked(session, session.ask(question, worker="without memory"))
    yes = {first[0]["approval_id"]: True}
    _say(session, first, yes, worker="without memory")
    again = _asked(session, session.ask(question, request_id=f"again-{session.tag}", worker="without memory"))
    alike = again[0]["input"] == first[0]["input"] and again[0]["approval_id"] not in yes
    answer = _say(session, first, yes, worker="without memory")
    fine = alike and answer.code == "invalid_request" and len(_letters(session)) == 1
    _expect(session, where, fine, f"got {answer}, posted {_letters(session)}")


def at_once(ground: Ground, copies: int, choice: random.Random) -> None:
    """The same decision several times at once, perhaps beside the contrary one: one is taken, and nothing runs twice."""
    session, where = ground.session(), f"{copies} decisions at once"
    entries = _wait(session, "pay")
    name = entries[0]["approval_id"]
    verdicts = [True] * copies + [False] * choice.randint(0, 2)
    choice.shuffle(verdicts)
    _agree(session, entries, {name: True})
    runs = [session.begin([session.said({name: verdict})]) for verdict in verdicts]
    answers = [answer for run in runs for answer in session.end(run)]
    answers += [_send(session, {name: verdict}, ahead=_AFTER_A_LEASE) for verdict in (True, False)]
    for answer in answers:
        fine = answer.status == 200 or answer.code in ("session_busy", "invalid_request")
        _expect(session, where, fine, f"got {answer}")
    good = [answer for answer in answers if answer.status == 200]
    _expect(session, where, bool(good) and all(answer.body == good[0].body for answer in good), f"answers: {good}")
    ends_well(session, where)


def too_late(ground: Ground) -> None:
    """A yes after its time: nothing runs, and the model is told so."""
    session, where = ground.session(), "too late"
    entries = _wait(session, "pay")
    yes = {entries[0]["approval_id"]: True}
    answer = _say(session, entries, yes, agrees=False, ahead=_TTL)
    told = json.loads(answer.text)["letters"] if answer.status == 200 else answer
    wanted = {entries[0]["input"]["text"]: "The approval came too late."}
    _expect(session, where, (told, _letters(session)) == (wanted, []), f"told {told}, posted {_letters(session)}")
    again = _say(session, entries, yes, agrees=False, ahead=_TTL)
    _expect(session, where, again.body == answer.body, f"again: {again}")
    ends_well(session, where)


def by_another(ground: Ground) -> None:
    """Where approvers are named, neither who asked nor a stranger decides; then an approver does."""
    session, where = ground.session(), "by another"
    entries = _wait(session, "pay", worker="guarded")
    yes = {entries[0]["approval_id"]: True}
    for who in ({}, _EVE):
        for more in ({}, {"caller": "anonymous"}):
            answer = session.send(session.said(yes, who, **more), worker="guarded")
            _expect(session, where, answer is not None and answer.code == "forbidden", f"got {answer}")
    stranger = session.send(session.said(yes, _EVE, caller="anonymous"))
    _expect(session, where, stranger is not None and stranger.code == "not_found", f"got {stranger}")
    _expect(session, where, not _letters(session), f"posted {_letters(session)}")
    _agree(session, entries, yes)
    answer = session.send(session.said(yes, BOSS, caller="anonymous"), worker="guarded")
    _expect(session, where, answer is not None and answer.status == 200, f"the approver got {answer}")
    _expect(session, where, len(_letters(session)) == 1, f"posted {_letters(session)}")
    ends_well(session, where, at_once=True)


def instructions_of_a_yes(ground: Ground) -> int:
    """How many instructions of the function a yes takes that is not killed."""
    session = ground.session()
    entries = _wait(session, "pay")
    return _say(session, entries, {entries[0]["approval_id"]: True}, traced=True).instructions


def killed(ground: Ground, choice: random.Random, *, kill_at: int = 0) -> None:
    """Dies on its way from the yes to the answer; then the same yes: the call runs at most once, and is never lost unnoticed."""
    plan = None if kill_at else Plan(choice.choice(KILLS), choice.choice((MODEL, *OF_EACH_TURN)), times=1)
    session, where = ground.session(), f"killed at {kill_at or plan} of a yes"
    entries = _wait(session, "pay")
    yes = {entries[0]["approval_id"]: True}
    _agree(session, entries, yes)
    session.send(session.said(yes), plan, kill_at=kill_at)
    at_once = _send(session, yes)
    _expect(session, where, at_once.status == 200 or at_once.code == "session_busy", f"at once: {at_once}")
    answer = _send(session, yes, ahead=_AFTER_A_LEASE)
    _expect(session, where, answer.status == 200, f"the same yes got {answer}")
    _knows(session, where, answer, entries)
    ends_well(session, where)


def the_storage_fails(ground: Ground, choice: random.Random) -> None:
    """A fault at any call of a yes; then the same yes."""
    kind: Kind = choice.choice(STORAGE_KINDS)
    plan = Plan(
        kind, choice.choice((*OF_EACH_TURN, "GetItem")), first=choice.choice((1, 2)), times=choice.choice((1, 1_000))
    )
    session, where = ground.session(), f"{plan} of a yes"
    entries = _wait(session, "pay")
    yes = {entries[0]["approval_id"]: True}
    answer = _say(session, entries, yes, plan=plan, seconds=6)
    fine = answer.status == 200 or answer.code in ("storage_unavailable", "session_busy")
    _expect(session, where, fine, f"got {answer}")
    answer = _send(session, yes, ahead=_AFTER_A_LEASE)
    _expect(session, where, answer.status == 200, f"the same yes got {answer}")
    _knows(session, where, answer, entries)
    ends_well(session, where)


def beside_questions(ground: Ground, choice: random.Random, worker: str = "") -> None:
    """A yes and some questions at the same instant: never two turns at once, and a call runs only where the yes was taken."""
    session, where = ground.session(), f"a yes beside questions {worker}".strip()
    entries = _wait(session, choice.choice(("pay", "pair")), worker=worker)
    yes = {entry["approval_id"]: True for entry in entries}
    _agree(session, entries, yes)
    events = [(session.said(yes), True) for _ in range(choice.randint(1, 3))]
    events += [(session.event(session.question("slow")), False) for _ in range(choice.randint(1, 3))]
    choice.shuffle(events)
    runs = [(session.begin([event], worker=worker), is_yes) for event, is_yes in events]
    answers = [(answer, is_yes) for run, is_yes in runs for answer in session.end(run)]
    for answer, is_yes in answers:
        fine = answer.status == 200 or answer.code in ("session_busy", *(("not_found",) if is_yes else ()))
        _expect(session, where, fine, f"a {'yes' if is_yes else 'question'} got {answer}")
    taken = [a for a, is_yes in answers if is_yes and a.status == 200 and a.body["stop_reason"] == "end_turn"]
    ran = [answer for answer in taken if "It was not given" not in answer.text]
    _expect(
        session, where, len(_letters(session)) == (len(entries) if ran else 0), f"posted {_letters(session)}: {taken}"
    )
    together = session.traffic.together
    _expect(session, where, not together, f"{together} model calls ran beside another")
    if not worker:
        ends_well(session, where)


def a_question_fails(ground: Ground, choice: random.Random, worker: str = "") -> None:
    """Questions that fail or die leave what waits waiting: then the yes runs it."""
    session, where = ground.session(), f"a question fails {worker}".strip()
    entries = _wait(session, "pay", worker=worker)
    yes = {entries[0]["approval_id"]: True}
    ahead = 0.0
    for _ in range(choice.randint(1, 3)):
        kind: Kind = choice.choice(("fail", "throttle", "drop_before", "kill_before", "kill_after"))
        answer = session.ask(session.question("chat"), Plan(kind, MODEL), seconds=6, worker=worker, ahead=ahead)
        ahead += 0.0 if answer else _AFTER_A_LEASE
        _expect(session, where, answer is None or answer.status != 200, f"{kind}: got {answer}")
    answer = _say(session, entries, yes, worker=worker, ahead=ahead)
    _expect(session, where, answer.status == 200 and len(_letters(session)) == 1, f"{answer}, {_letters(session)}")
    if not worker:
        ends_well(session, where, ahead=ahead + _AFTER_A_LEASE)


def _wait(session: Session, task: str, **how: Any) -> list[dict[str, Any]]:
    """The `approvals` of a turn that waits."""
    assert task in WITH_LEAVE
    return _asked(session, session.ask(session.question(task), **how))


def _asked(session: Session, answer: Answer | None) -> list[dict[str, Any]]:
    waits = answer is not None and answer.body.get("stop_reason") == "awaiting_approval"
    _expect(session, "waiting", waits, f"got {answer}")
    return list(answer.body["approvals"]) if answer and waits else []


def _say(
    session: Session,
    entries: Sequence[dict[str, Any]],
    verdicts: Verdicts,
    *,
    agrees: bool = True,
    plan: Plan | None = None,
    **how: Any,
) -> Answer:
    if agrees:
        _agree(session, entries, verdicts)
    return session.send(session.said(verdicts), plan, **how) or Answer(0, {})


def _send(session: Session, verdicts: Verdicts, **how: Any) -> Answer:
    return session.send(session.said(verdicts), **how) or Answer(0, {})


def _agree(session: Session, entries: Sequence[dict[str, Any]], verdicts: Verdicts) -> None:
    session.agreed |= {entry["input"]["text"] for entry in entries if verdicts.get(entry["approval_id"])}


def _knows(session: Session, where: str, answer: Answer, entries: Sequence[dict[str, Any]]) -> None:
    """Notes where a letter was posted and the model wasn't told so, or that its fate is unknown."""
    letters = _letters(session)
    told = json.loads(answer.text)["letters"] if answer.status == 200 else {}
    texts = {entry["input"]["text"] for entry in entries}
    _expect(session, where, set(told) >= texts and len(letters) <= 1, f"posted {letters}, told {told}")
    for text in texts - set(letters):
        _expect(session, where, told.get(text, "").startswith("Interrupted"), f"not posted, but told {told}")


def _letters(session: Session) -> list[str]:
    return posted(session.ground.letters, session.tag)


def _expect(session: Session, where: str, fine: bool, what: str) -> None:
    session.ground.tally.expect(fine, f"{where} {session.tag}", what)
