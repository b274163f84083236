"""What waits for a person to decide, a page at a time."""

import base64
import json
from collections.abc import Callable
from typing import Any

import msgspec

from agent.deadline import Deadline
from agent.errors import InvalidRequestError
from agent.ports import IndexKey, WaitingIndex
from agent.sessions.answers import LISTED_BYTES
from agent.sessions.approvals import DIRECT, utc, waiting_entries
from agent.sessions.states import state_of, with_closed

_TURNS = 20  # of a page, each whole
READING = 6.0  # seconds in which attempts to read for a person may begin
_NOT_OURS = "next is not the next of a page."


class Inbox(msgspec.Struct, frozen=True):
    """Pages of what waits: of one caller, the oldest first, or of all, in no order."""

    index: WaitingIndex
    now: Callable[[], float]

    def page(self, caller: str, after: str, *, sees: bool = True) -> dict[str, Any]:
        """The answer of GET /approvals; a blank caller is for all, `after` the `next` of the page before, or blank.

        Who doesn't see what waits gets an empty one.
        Raises InvalidRequestError for an `after` that is no `next` of this caller's.
        """
        start, deadline = _read(after) if after else None, Deadline.after(READING)
        if start and caller and start.waiting != caller:
            raise InvalidRequestError(_NOT_OURS)
        if not sees:
            return {"approvals": []}
        keys, following = self.index.page(caller, start, deadline)
        shown: list[dict[str, Any]] = []
        size, turns = 0, 0
        for number, key in enumerate(keys):
            entries = self._waiting(key, caller, deadline)
            size += len(json.dumps(entries, ensure_ascii=False).encode())
            if number and (turns + bool(entries) > _TURNS or size > LISTED_BYTES or deadline.left() <= 0):
                following = keys[number - 1]
                break
            shown += entries
            turns += bool(entries)
        return {"approvals": shown, **({"next": _written(following)} if following else {})}

    def _waiting(self, key: IndexKey, caller: str, deadline: Deadline) -> list[dict[str, Any]]:
        """The entries of one turn, if it still waits."""
        now = self.now()
        turns = with_closed(self.index.turn_and_next(key.session_id, key.turn, deadline))
        found = next((turn for turn in turns if turn.turn == key.turn and state_of(turn, now).waits), None)
        owner, _, session_id = key.session_id.rpartition("#")
        if found is None or (caller and (owner or DIRECT) != caller):
            return []
        whose = {"session_id": session_id, "caller": owner or DIRECT, "since": found.waiting_since}
        return [{**whose, **entry} for entry in waiting_entries(found) if entry["expires_at"] > utc(now)]


def _written(key: IndexKey) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def _read(text: str) -> IndexKey:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(data, type=IndexKey)
    except (ValueError, RecursionError) as error:  # msgspec's errors among them
        raise InvalidRequestError(_NOT_OURS) from error
