"""What is kept of a turn that has run, and who is told. What was paid for reaches the caller, even where it can't be saved."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from agent.deadline import Deadline
from agent.errors import AgentError
from agent.listening import Announcer
from agent.messages import Message
from agent.ports import WAITING, StoredTurn
from agent.sessions import history
from agent.sessions.leases import Leases, Reserved
from agent.sessions.states import CLOSED

# Parts of the time that is left, the reserve included, so that each thing that hangs leaves some to those after it.
_TO_SAVE, _TO_TELL = 0.75, 0.5
_TRIMMED_AT_ONCE = 25  # items, DynamoDB's bound of a batch


class Keeping(msgspec.Struct, frozen=True):
    """Ends turns that are ours; `changed` tells that tools may have changed something outside."""

    leases: Leases
    announcer: Announcer | None

    def save(self, reserved: Reserved, ended: StoredTurn, deadline: Deadline, *, changed: bool) -> bool:
        """Whether the turn is kept as it should be. Where it can't, the session is freed, unless something was changed."""
        held, ends = reserved.turn, deadline.end().share(_TO_SAVE)
        is_kept = bool(self.leases.pairs) or ended.status == WAITING
        try:
            if is_kept:
                self.leases.store.save(ended, ends)
            else:
                # while nothing is kept of what closes them, those that waited must be gone first
                for closed in (other for other in reserved.others if other.status == CLOSED):
                    self.leases.store.free(closed, ends)
                self.leases.store.free(held, ends)
        except AgentError as error:
            self.leases.warn("the answer could not be saved", error)
            if not (changed or held.messages):
                self.leases.give_back(reserved, deadline)
            return False
        if is_kept:
            self.leases.close(reserved, deadline)
        return True

    def give_up(self, reserved: Reserved, messages: list[Message], deadline: Deadline, *, changed: bool) -> None:
        """Frees the session after a failed turn; what was changed outside stays written down."""
        held = reserved.turn
        if not (changed or held.messages):
            self.leases.give_back(reserved, deadline)
            return
        try:
            self.leases.store.save(replace(held, messages=messages, lease_until=0), deadline.end().share(_TO_SAVE))
        except AgentError as error:  # the lease ends by itself
            self.leases.warn("a failed turn could not be freed", error)
        self.leases.close(reserved, deadline)

    def announce(self, session_id: str, waiting: StoredTurn, deadline: Deadline) -> None:
        """Tells who is to decide. Best effort: what waits is found without it, too."""
        entries = (waiting.response or {}).get("approvals", [])
        try:
            if self.announcer:
                self.announcer.announce(session_id, waiting.waiting, entries, deadline.end().share(_TO_TELL))
        except AgentError as error:
            self.leases.warn("nobody could be told of what waits", error)

    def trim(self, reserved: Reserved, completed: Sequence[StoredTurn], now: float, deadline: Deadline) -> None:
        """Deletes what is kept no longer. Best effort: the next turn does what this one couldn't."""
        turn = reserved.turn
        surplus = history.surplus(reserved.others, completed, turn.turn, self.leases.pairs, now)[-_TRIMMED_AT_ONCE:]
        try:
            if surplus:
                self.leases.store.trim(turn.key, surplus, deadline.end())
        except AgentError as error:
            self.leases.warn("old turns could not be deleted", error)
