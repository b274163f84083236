"""Fallback models that take over in the middle, and callers who use up the tokens of their day, many requests at once."""

import itertools
import random
from typing import Any

from agent.adapters.dynamodb.items import from_item
from tests.torture.checks import check, ends_well
from tests.torture.faults import MODEL, Kind, Plan
from tests.torture.ground import DAILY_TOKENS, SECOND, Ground, Session
from tests.torture.letters import posted
from tests.torture.processes import Answer

_DAY = 24 * 60 * 60
_serial = itertools.count(1)


def another_model_takes_over(ground: Ground, choice: random.Random) -> None:
    """The first model fails at some step of a turn, and a fallback model goes on: nothing is lost and nothing done twice."""
    kind: Kind = choice.choice(("fail", "timeout"))  # which are not tried again
    task, first = choice.choice((("chat", 1), ("letter", 1), ("letter", 2), ("letters", 2), ("letters", 3), ("pay", 1)))
    session, where = ground.session(), f"{kind} at step {first} of {task}, another model"
    question = session.question(task)
    answer = session.ask(question, Plan(kind, MODEL, first=first, times=1), worker="falling back")
    taken_over = answer is not None and answer.status == 200 and answer.body["model_id"] == SECOND
    ground.tally.expect(taken_over, f"{where} {session.tag}", f"got {answer}")
    if task == "pay" and answer:
        (entry,) = answer.body.get("approvals", [{}])
        session.agreed.add(entry["input"]["text"])
        answer = session.send(session.said({entry["approval_id"]: True}), worker="falling back")
        stays = answer is not None and answer.status == 200 and answer.body["model_id"] == SECOND
        ground.tally.expect(stays, f"{where} {session.tag}", f"after the yes got {answer}")
    rounds = {"chat": 0, "letter": 1, "letters": 2, "pay": 1}[task]
    letters = posted(ground.letters, session.tag)
    wanted = [f"{question} {number + 1}" for number in range(rounds)]
    ground.tally.expect(letters == wanted, f"{where} {session.tag}", f"posted {letters} instead of {wanted}")
    ends_well(session, where, at_once=True)


def tokens_of_a_day(ground: Ground, copies: int) -> None:
    """Many requests of one caller at once, until the day is used up: all of it is counted, and no more begins."""
    who = {"authorizer": {"jwt": {"claims": {"iss": "https://issuer.example", "sub": f"spender {next(_serial)}"}}}}
    sessions = [ground.session(who) for _ in range(copies)]
    where, used, dearest, longest = f"{copies} at the tokens of a day", 0, 0, 0
    for _ in range(20):
        runs = [(each, each.begin([each.event(each.question("letter"))], worker="metered")) for each in sessions]
        answers = [(each, answer) for each, run in runs for answer in each.end(run)]
        for each, answer in answers:
            fine = answer.status == 200 or (answer.code == "model_throttled" and 0 < (answer.retry_after or 0) <= _DAY)
            ground.tally.expect(fine, f"{where} {each.tag}", f"got {answer}")
            tokens = _tokens(answer)
            used, longest = used + tokens, max(longest, tokens)
            dearest = max(dearest, tokens // max(answer.body.get("steps", 1), 1))
        if all(answer.status != 200 for _, answer in answers):
            break
    else:
        ground.tally.expect(False, where, f"{used} tokens were used, and still no end")
    counted = _counted(ground, sessions[0])
    ground.tally.expect(counted == used, where, f"{used} tokens were used, and {counted} counted")
    # each turn that began saw something left, and ended with the call that went beyond it
    bound = DAILY_TOKENS + copies * 2 * longest
    ground.tally.expect(DAILY_TOKENS <= used <= bound, where, f"{used} tokens were used, of {DAILY_TOKENS} to {bound}")
    for each in sessions:
        check(each, where)


def _tokens(answer: Answer) -> int:
    usage: dict[str, int] = answer.body.get("usage", {})
    return usage.get("input_tokens", 0) + usage.get("output_tokens", 0)


def _counted(ground: Ground, session: Session) -> int:
    """The tokens of all days that are counted for its caller, since midnight may come between."""
    items: Any = ground.cloud.items(session.caller, "#tokens")
    return sum(int(item["tokens"]["N"]) for item in items if from_item(item).key)
