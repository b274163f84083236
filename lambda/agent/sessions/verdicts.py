"""What a person's decisions come to: the turn that goes on with them, or the answer that there is already."""

from typing import Any

import msgspec
from msgspec.structs import replace

from agent.errors import InvalidRequestError, NotFoundError, StorageUnavailableError
from agent.ports import RUNNING, StoredTurn
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
    return _Deciding(leases, approval, seen, now).reserve()


class _Deciding(msgspec.Struct, frozen=True):
    leases: Leases
    approval: Approval
    seen: list[StoredTurn]
    now: float

    def reserve(self) -> Reserved | dict[str, Any]:
        verdicts = self.approval.verdicts
        kept = [turn for turn in self.seen if state_of(turn, self.now).is_decided]
        found = next((turn for turn in kept if state_of(turn, self.now).waits), None)
        waiting = [entry["approval_id"] for entry in waiting_entries(found)] if found else []
        decided = {name: decision for turn in kept for name, decision in turn.decisions.items()}
        if not verdicts.keys() <= decided.keys():  # what is decided has its answer, whatever runs now
            refuse_while_running(self.seen, self.now)
        for name, (approved, _) in verdicts.items():
            if name in decided and contradicts(approved, decided[name]):
                raise InvalidRequestError(f"{name} was decided otherwise already.")
            if name not in decided and name not in waiting:
                if waiting:
                    raise InvalidRequestError(f"{name} does not wait for approval; these do: {', '.join(waiting)}.")
                is_earlier = bool(kept) and kept[0].status == CLOSED and not kept[0].random
                raise NotFoundError(EARLIER_VERSION if is_earlier else _NOTHING_WAITS)
        if found and not verdicts.keys().isdisjoint(waiting):
            return self._decide(found)
        known = next(turn for turn in kept if turn.decisions.keys() & verdicts.keys())
        if state_of(known, self.now).is_replaced:  # it crashed while they ran
            return self._go_on(known, messages=repair(known.messages, set(), closed=False, reasoning=True))
        answer = present_answer(known)
        if answer is None:
            raise NotFoundError(_NOTHING_WAITS)
        self._start(known)
        return answer

    def _decide(self, found: StoredTurn) -> Reserved | dict[str, Any]:
        entries = {entry["approval_id"]: entry for entry in waiting_entries(found)}
        said = {name: self.approval.decision(name, self.now, each["expires_at"]) for name, each in entries.items()}
        new = {name: decision for name, decision in said.items() if decision}
        decided = replace(found, decisions={**found.decisions, **new})
        result: Reserved | dict[str, Any] = {**(found.response or {}), "approvals": waiting_entries(decided)}
        if len(new) == len(entries):
            result = self._go_on(found, decisions=decided.decisions)
        else:  # under a new lease, so that of two answers at once only one is taken
            partly = replace(decided, response=result, lease_id=self.leases.new_id())
            self.leases.store.reserve(partly, found, self.now, self.approval.deadline)
            self._start(found)
        for name, decision in new.items():
            use, tool = entries[name]["tool_use_id"], entries[name]["tool"]
            self.leases.journal.approval(self.approval.session_id, use, tool, decision.approved, decision.by)
        return result

    def _start(self, turn: StoredTurn) -> None:
        """Who listens to a yes after which nothing runs has the start of its turn, too."""
        if self.approval.listener:
            self.approval.listener.start(self.approval.session_id, turn.request_id, turn.turn)

    def _go_on(self, found: StoredTurn, **changes: Any) -> Reserved:
        leases, deadline = self.leases, self.approval.deadline
        for other in self.seen:
            # a question that came instead and crashed: should it wake up, it finds its turn gone
            if other.turn > found.turn:
                leases.store.free(other, deadline)
        taken = {"status": RUNNING, "lease_id": leases.new_id(), "lease_until": leases.lease_until(deadline, self.now)}
        ends = max(found.expires_at, int(self.now) + leases.ttl_seconds)
        turn = replace(found, expires_at=ends, waiting="", waiting_since="", **taken, **changes)
        try:
            leases.store.reserve(turn, found, self.now, deadline)
        except StorageUnavailableError:
            standing = leases.store.get(turn.key, turn.turn, deadline)
            if standing is None or standing.lease_id != turn.lease_id:
                raise
        return Reserved(turn, [other for other in self.seen if other.turn < turn.turn])
