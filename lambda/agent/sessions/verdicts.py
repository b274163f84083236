"""What a person's decisions come to: the turn that goes on with them, or the answer that there is already."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from msgspec.structs import replace

from agent.errors import InvalidRequestError, NotFoundError, StorageUnavailableError
from agent.ports import RUNNING, Decision, StoredTurn
from agent.sessions.answers import present_answer
from agent.sessions.approvals import EARLIER_VERSION, Approval, contradicts, waiting_entries
from agent.sessions.leases import Leases, Reserved, refuse_while_running
from agent.sessions.states import CLOSED, state_of
from agent.turn.repair import repair

_NOTHING_WAITS = "Nothing in this session waits for approval."


def reserve(leases: Leases, approval: Approval) -> Reserved | dict[str, Any]:
    """The turn whose waiting tool uses are decided now, or its answer where some still wait or all was decided before.

    Raises NotFoundError where nothing waits, InvalidRequestError for a tool use that doesn't, or was decided otherwise,
    SessionBusyError while a turn runs.
    """
    now = leases.now()
    seen = leases.seen(approval.key, approval.deadline, now, whole=True)
    refuse_while_running(seen, now)
    kept = [turn for turn in seen if state_of(turn, now).is_decided]
    found = next((turn for turn in kept if state_of(turn, now).waits), None)
    entries = {entry["approval_id"]: entry for entry in waiting_entries(found)} if found else {}
    decided = {name: decision for turn in kept for name, decision in turn.decisions.items()}
    for name, (approved, _) in approval.verdicts.items():
        if name not in entries and name not in decided:
            _refuse(name, list(entries), kept)
        if name in decided and contradicts(approved, decided[name]):
            raise InvalidRequestError(f"{name} was decided otherwise already.")
    if found and entries.keys() & approval.verdicts.keys():
        return _decide(leases, approval, seen, found, entries)
    known = next(turn for turn in kept if turn.decisions.keys() & approval.verdicts.keys())
    if state_of(known, now).is_replaced:  # it crashed while they ran
        messages = repair(known.messages, set(), closed=False, reasoning=True)
        return _go_on(leases, approval, seen, known, replace(known, messages=messages))
    answer = present_answer(known)
    if answer is None:
        raise NotFoundError(_NOTHING_WAITS)
    return answer


def _refuse(name: str, waiting: Sequence[str], kept: Sequence[StoredTurn]) -> NoReturn:
    if waiting:
        raise InvalidRequestError(f"{name} does not wait for approval; these do: {', '.join(waiting)}.")
    is_of_earlier_version = bool(kept) and kept[0].status == CLOSED and not kept[0].random
    raise NotFoundError(EARLIER_VERSION if is_of_earlier_version else _NOTHING_WAITS)


def _decide(
    leases: Leases,
    approval: Approval,
    seen: Sequence[StoredTurn],
    found: StoredTurn,
    entries: Mapping[str, Mapping[str, Any]],
) -> Reserved | dict[str, Any]:
    now = leases.now()
    said = {name: approval.decision(name, now, entry["expires_at"]) for name, entry in entries.items()}
    new = {name: decision for name, decision in said.items() if decision}
    decided = replace(found, decisions={**found.decisions, **new})
    pending = waiting_entries(decided)
    if not pending:
        reserved = _go_on(leases, approval, seen, found, decided)
        _tell(leases, approval, entries, new)
        return reserved
    answer = {**(found.response or {}), "approvals": pending}
    # a new lease, so that of two answers at once only one is taken
    leases.store.reserve(replace(decided, response=answer, lease_id=leases.new_id()), found, now, approval.deadline)
    _tell(leases, approval, entries, new)
    return answer


def _go_on(
    leases: Leases, approval: Approval, seen: Sequence[StoredTurn], found: StoredTurn, changed: StoredTurn
) -> Reserved:
    now = leases.now()
    for other in seen:
        # a question that came instead and crashed: should it wake up, it finds its turn gone
        if other.turn > found.turn:
            leases.store.free(other, approval.deadline)
    turn = replace(
        changed,
        status=RUNNING,
        lease_id=leases.new_id(),
        lease_until=leases.lease_until(approval.deadline, now),
        expires_at=max(changed.expires_at, int(now) + leases.ttl_seconds),
        waiting="",
        waiting_since="",
    )
    try:
        leases.store.reserve(turn, found, now, approval.deadline)
    except StorageUnavailableError:
        standing = leases.store.get(turn.key, turn.turn, approval.deadline)
        if standing is None or standing.lease_id != turn.lease_id:
            raise
    return Reserved(turn, [other for other in seen if other.turn < turn.turn])


def _tell(
    leases: Leases,
    approval: Approval,
    entries: Mapping[str, Mapping[str, Any]],
    decisions: Mapping[str, Decision],
) -> None:
    for name, decision in decisions.items():
        use, tool = entries[name]["tool_use_id"], entries[name]["tool"]
        leases.journal.approval(approval.session_id, use, tool, decision.approved, decision.by)
