"""The tokens of a caller's day: what is left of them before a turn, what it may use, and the count after it."""

import math

import msgspec

from agent.deadline import Deadline
from agent.errors import AgentError, ModelThrottledError
from agent.messages import Usage
from agent.ports import Journal, Meter
from agent.turn.loop import Limits

_DAY = 24 * 60 * 60  # seconds
_TO_COUNT = 0.25  # of the time that is left, the reserve included
_USED_UP = "Your tokens of today are used up. They are counted anew from midnight UTC."


class DailyTokens(msgspec.Struct, frozen=True):
    """`limit` tokens a caller and day (UTC), as `meter` counts them; without a meter there is no limit."""

    meter: Meter | None = None
    limit: int = 0

    def left(self, caller: str, now: float, deadline: Deadline) -> int | None:
        """What is left of the day of `now` (epoch seconds), None without a limit."""
        return self.limit - self.meter.used(caller, now, deadline) if self.meter else None

    def admit(self, left: int | None, now: float) -> None:
        """Raises ModelThrottledError where nothing is left; a retry helps from midnight UTC on."""
        if left is not None and left <= 0:
            raise ModelThrottledError(_USED_UP, retry_after=_DAY - int(now % _DAY))

    def bound(self, limits: Limits, left: int | None, used: Usage) -> Limits:
        """The limits of a turn that has used so much already; one model call is left to what was approved."""
        if left is None or (limits.turn_token_limit or math.inf) <= used.total + max(left, 1):
            return limits
        return Limits(limits.max_steps, used.total + max(left, 1), is_of_the_day=True)

    def count(self, caller: str, tokens: int, now: float, ends: Deadline, journal: Journal) -> None:
        """Counts what a turn used, with a part of the time. Best effort: an answer isn't lost where it can't be counted."""
        try:
            if self.meter and tokens:
                self.meter.add(caller, tokens, now, ends.share(_TO_COUNT))
        except AgentError as error:
            journal.warning("tokens could not be counted", detail=error.detail or error.message)
