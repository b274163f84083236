"""Faults that are injected into calls, by plan: which operation, from which call on, how many times."""

import threading
from dataclasses import dataclass, field
from typing import Literal

MODEL = "Converse"
STORAGE = ("Query", "PutItem", "UpdateItem", "DeleteItem", "GetItem")
OF_EACH_TURN = STORAGE[:3]

Kind = Literal[
    "throttle",
    "error",
    "unready",
    "fail",
    "timeout",
    "drop_before",
    "drop_after",
    "drop_middle",
    "garbage",
    "slow",
    "late",
    "silent",
    "kill_before",
    "kill_after",
    "kill_answered",
    "freeze",
]
# kind -> HTTP status and the service's own name of the error
MODEL_ERRORS: dict[str, tuple[int, str]] = {
    "throttle": (429, "ThrottlingException"),
    "error": (500, "InternalServerException"),
    "unready": (503, "ServiceUnavailableException"),
    "fail": (424, "ModelErrorException"),
    "timeout": (408, "ModelTimeoutException"),
}
STORAGE_ERRORS: dict[str, tuple[int, str]] = {
    "throttle": (400, "ProvisionedThroughputExceededException"),
    "error": (500, "InternalServerError"),
}
_ON_THE_WIRE: tuple[Kind, ...] = ("drop_before", "drop_after", "drop_middle", "garbage", "slow")
MODEL_KINDS: tuple[Kind, ...] = ("throttle", "error", "unready", "fail", "timeout", *_ON_THE_WIRE, "silent")
STORAGE_KINDS: tuple[Kind, ...] = ("throttle", "error", *_ON_THE_WIRE, "late", "silent")
FREEZE: Kind = "freeze"  # SIGSTOP before the answer comes
KILLS: tuple[Kind, ...] = ("kill_before", "kill_after", "kill_answered")
SECONDS = {"slow": 0.3, "late": 1.8}  # until the answer: below and beyond the 1.4 s for which storage is waited for
# the call is made, whatever becomes of its answer
MADE = ("drop_after", "drop_middle", "garbage", "slow", "late", "kill_after", "kill_answered", FREEZE)


@dataclass
class Plan:
    """One kind of fault at the calls of an operation (blank: any), from the `first` of them on, `times` times."""

    kind: Kind
    operation: str = ""
    first: int = 1
    times: int = 1_000
    _seen: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fault_for(self, operation: str) -> Kind | None:
        """The fault for the next call of this operation. A kind that the service doesn't know lets the call through."""
        if self.operation not in ("", operation):
            return None
        with self._lock:
            self._seen += 1
            due = self.first <= self._seen < self.first + self.times
        known = MODEL_KINDS if operation == MODEL else STORAGE_KINDS
        return self.kind if due and self.kind in (*known, *KILLS, FREEZE) else None

    def __str__(self) -> str:
        many = "once" if self.times == 1 else "each time"
        return f"{self.kind} at {self.operation or 'call'} {self.first}, {many}"
