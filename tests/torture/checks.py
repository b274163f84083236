"""What must hold of a session, whatever has happened to it."""

import json
from itertools import chain, pairwise
from typing import Any

from agent.adapters.dynamodb.items import from_item
from agent.ports import DONE, RUNNING, WAITING, StoredTurn
from agent.sessions.states import CLOSED, with_closed
from agent.turn.repair import INTERRUPTED, repair
from local.bedrock.issued import Issued
from local.bedrock.rules import violations
from tests.torture.ground import CLAUDE, Session
from tests.torture.letters import posted
from tests.torture.postman.tools.letters import hang, post_and_die, post_letter, post_with_leave
from tests.torture.processes import Answer
from tests.torture.witness import WITH_LEAVE, letters_known, questions

_TOOLS = (post_letter, post_and_die, post_with_leave, hang)
_LONGEST_LEASE = 60.0  # seconds; all functions here have less time


def check(session: Session, where: str) -> None:
    """Notes what is wrong with a session that no process works on: its items, its letters, the answers that were given."""
    tally, cloud = session.ground.tally, session.ground.cloud
    tally.count("sessions checked")
    turns = with_closed([from_item(item) for item in reversed(cloud.items(session.tag, session.caller))])[::-1]
    numbers = [turn.turn for turn in turns]

    def expect(fine: bool, what: str) -> None:
        tally.expect(fine, f"{where} {session.tag}", what)

    expect(all(after == before + 1 for before, after in pairwise(numbers)), f"turns are numbered {numbers}")
    expect(all(turn.status in (DONE, CLOSED) for turn in turns[:-1]), f"they are {[turn.status for turn in turns]}")
    answered = [turn.request_id for turn in turns if turn.status == DONE]
    expect(len(answered) == len(set(answered)), f"a request was answered twice: {answered}")
    for turn in turns:
        expect(not (wrong := _wrong(turn)), f"turn {turn.turn} is not valid: {wrong}")
    letters = posted(session.ground.letters, session.tag)
    expect(len(letters) == len(set(letters)), f"a letter was posted twice: {letters}")
    unasked = [letter for letter in letters if letter.split(" ")[2] in WITH_LEAVE and letter not in session.agreed]
    expect(not unasked, f"letters were posted without leave: {unasked}")
    known = letters_known(list(chain.from_iterable(turn.messages or [] for turn in turns)))
    if numbers[:1] == [1]:  # else some were trimmed
        expect(set(letters) <= set(known), f"letters {letters}, of which the session knows {sorted(known)}")
        expect(_in_order(turns), "a turn did not hear all that was asked before it")
    stored = {turn.turn: (turn.response or {}).get("answer") for turn in turns if turn.status == DONE}
    for answer in session.got:
        waits = answer.body.get("stop_reason") == "awaiting_approval"
        if answer.status == 200 and answer.body.get("saved", True) and answer.body["turn"] in stored and not waits:
            expect(stored[answer.body["turn"]] == answer.text, f"turn {answer.body['turn']} has another answer")
    given = {answer.text for answer in session.got}
    tally.lost += [f"{where} {session.tag}: {text}" for text in session.traffic.delivered if text not in given]


def ends_well(session: Session, where: str, *, ahead: float = _LONGEST_LEASE, at_once: bool = False) -> Answer | None:
    """Asks two more questions: at once, where the session may be busy, and once every lease has ended, when it must answer."""
    tally, answer = session.ground.tally, None
    for each in (0.0, ahead):
        answer = session.ask(session.question("chat"), ahead=each)
        if answer is None:
            tally.expect(False, f"{where} {session.tag}", "a process died that nobody killed")
            return None
        busy = answer.status == 409 and answer.code == "session_busy" and (answer.retry_after or 0) >= 1
        may_be_busy = not each and not at_once
        tally.expect(answer.status == 200 or (busy and may_be_busy), f"{where} {session.tag}", f"then got {answer}")
        if answer.status == 200:
            missing = set(posted(session.ground.letters, session.tag)) - set(json.loads(answer.text)["letters"])
            tally.expect(not missing, f"{where} {session.tag}", f"the model was not told of the letters {missing}")
    check(session, where)
    return answer


def check_interrupted(answer: Answer | None, letter: str, session: Session, where: str) -> None:
    """Notes where the model was not told that a letter's fate is unknown."""
    told = json.loads(answer.text)["letters"].get(letter) if answer and answer.text else None
    session.ground.tally.expect(told == INTERRUPTED, f"{where} {session.tag}", f"of a letter it was told {told!r}")


def _wrong(turn: StoredTurn) -> list[str]:
    """What is wrong with one item."""
    if turn.status == RUNNING:
        messages = repair(turn.messages, set(), closed=False)
        return _refused(messages) if messages else []
    messages = list(turn.messages or [])
    wrong = [] if turn.response and turn.usage else ["no response or no usage"]
    waits = turn.status in (WAITING, CLOSED)
    if repair(messages, set(), closed=False, answered=not waits, reasoning=waits) != messages:
        wrong.append(f"needs repair: {messages}")
    # as the history of another question
    return wrong + _refused([*repair(messages, set()), {"role": "user", "content": [{"text": "And?"}]}])


def _refused(messages: list[Any]) -> list[str]:
    request = {"messages": messages, "toolConfig": {"tools": [each.spec for each in _TOOLS]}}
    found = violations(CLAUDE, request, stream=False, issued=Issued())
    return [f"{each.rule}: {each.message}" for each in found if each.level == "error"]


def _in_order(turns: list[StoredTurn]) -> bool:
    """Whether each answer tells of the questions of all turns up to its own, in order: so turns ran one after the other."""
    asked: list[str] = []
    for turn in turns:
        asked += questions(list(turn.messages or []))
        text = (turn.response or {}).get("answer", "")
        if turn.status == DONE and text.startswith("{") and json.loads(text)["heard"] != asked:
            return False
    return True
