"""The ground of the tests of bad luck: a cloud on this machine, workers before it, and a tally of what was tried and found."""

import itertools
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.edge.callers import caller_of
from tests.agent.edge.gateway_events import http_api
from tests.torture.cloud import Cloud, Traffic
from tests.torture.faults import Plan
from tests.torture.processes import FUNCTION, Answer, Run, Worker

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PAIRS = 30
FEW_PAIRS = 3  # so that turns are trimmed
SECOND = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
DAILY_TOKENS = 3_000
BOSS = {"authorizer": {"jwt": {"claims": {"iss": "https://issuer.example", "sub": "boss"}}}}
_WORKERS: dict[str, dict[str, str]] = {
    "usual": {},
    "forgetful": {"HISTORY_PAIRS": str(FEW_PAIRS)},
    "without memory": {"HISTORY_PAIRS": "0"},
    "guarded": {"APPROVERS": caller_of(BOSS, "session")},
    "falling back": {"FALLBACK_MODEL_IDS": SECOND},
    "metered": {"CALLER_DAILY_TOKENS": str(DAILY_TOKENS)},
}
_serial = itertools.count(1)


@dataclass
class Tally:
    """What was tried and what was found; safe to use from several threads."""

    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str, number: int = 1) -> None:
        """Adds to a count."""
        with self._lock:
            self.counts[name] += number

    def expect(self, fine: bool, where: str, what: str) -> None:
        """Notes a violation where something isn't fine."""
        if not fine:
            self.violations.append(f"{where}: {what}")


@dataclass
class Ground:
    """Where sessions are tried. `worker` keeps many turns, `others` have further settings; `letters` is their file."""

    cloud: Cloud
    worker: Worker
    others: Mapping[str, Worker]
    letters: Path
    tally: Tally = field(default_factory=Tally)

    def session(self, who: Mapping[str, Any] | None = None) -> "Session":
        """A session that no other has touched, of a caller of whom the gateway says this."""
        return Session(self, f"torture-{next(_serial)}", who or {})


@dataclass
class Session:
    """One session: what is asked in it and planned for it. Its id is its tag, which every question begins with."""

    ground: Ground
    tag: str
    who: Mapping[str, Any] = field(default_factory=dict)
    got: list[Answer] = field(default_factory=list)  # what callers got
    requests: dict[str, str] = field(default_factory=dict)  # request id -> question
    agreed: set[str] = field(default_factory=set)  # the letters to which somebody who may has said yes
    _number: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @property
    def traffic(self) -> Traffic:
        """What went through for it."""
        return self.ground.cloud.traffic[self.tag]

    def question(self, task: str) -> str:
        """A new question with this task."""
        return f"{self.tag} {next(self._number)} {task}"

    def event(self, question: str, request_id: str = "") -> tuple[Any, str]:
        """An HTTP event and its invocation id."""
        request_id = request_id or f"r-{question.replace(' ', '-')}"
        self.requests[request_id] = question
        body = {"question": question, "session_id": self.tag, "request_id": request_id}
        return http_api(body=body, **self.who), f"invocation-{next(_serial)}"

    def said(self, verdicts: Mapping[str, bool], who: Mapping[str, Any] | None = None, **more: str) -> tuple[Any, str]:
        """An HTTP event that says these of what waits, and its invocation id; by whose session it is, or by another."""
        path = f"/sessions/{self.tag}/approvals"
        body = {"approvals": dict(verdicts), **more}
        return http_api("POST", path, body, **(self.who if who is None else who)), f"invocation-{next(_serial)}"

    @property
    def caller(self) -> str:
        """Its caller's hash, as the table has it."""
        context = http_api(**self.who)["requestContext"]
        return caller_of(context, "session")

    def begin(
        self, events: Sequence[tuple[Any, str]], plan: Plan | None = None, *, worker: str = "", **how: Any
    ) -> Run:
        """Starts a process for these events in a worker, one of the others where it is named; `how` goes to it."""
        self.traffic.plan, self.traffic.victim = plan, Future()
        chosen = self.ground.others[worker] if worker else self.ground.worker
        run = chosen.start(events, **how)
        self.ground.tally.count("requests", len(events))
        self.traffic.victim.set_result(run.pid)
        return run

    def end(self, run: Run, within: float | None = None) -> list[Answer]:
        """The answers of a process that has ended; they count as got."""
        answers = run.answers(within)
        self.got += answers
        return answers

    def ask(self, question: str, plan: Plan | None = None, request_id: str = "", **how: Any) -> Answer | None:
        """The answer to a question, or None where the process was killed."""
        return self.send(self.event(question, request_id), plan, **how)

    def send(self, event: tuple[Any, str], plan: Plan | None = None, **how: Any) -> Answer | None:
        """The answer to an event, or None where the process was killed."""
        answers = self.end(self.begin([event], plan, **how))
        if not answers:
            self.ground.tally.count("kills")
            self.traffic.delivered = []  # what reached a process that is no more is not lost by it
        self.traffic.plan = None
        return answers[0] if answers else None


@contextmanager
def ground_in(folder: Path, function: Path = FUNCTION) -> Iterator[Ground]:
    """A ground with its files in a folder, and the function of another."""
    letters = folder / "letters"
    with ExitStack() as stack:
        cloud = stack.enter_context(Cloud(f"sessions-{next(_serial)}"))
        environment = {
            "AWS_ENDPOINT_URL": cloud.url,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "no_proxy": "*",
            "LETTERS": str(letters),
            "MODEL_ID": CLAUDE,
            "TABLE_NAME": cloud.table,
            "TOOL_TIMEOUT_SECONDS": "1",
        }
        workers = {
            name: stack.enter_context(
                Worker({**environment, "HISTORY_PAIRS": str(PAIRS), **more}, folder / f"log-{name}.txt", function)
            )
            for name, more in _WORKERS.items()
        }
        yield Ground(cloud, workers.pop("usual"), workers, letters)
