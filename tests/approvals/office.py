"""An agent whose tools need a person's yes, over moto's DynamoDB, with one scripted model for all its processes."""

import itertools
import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Annotated, Any

from agent.deadline import start
from agent.errors import ModelUnavailableError
from agent.ports import ModelReply
from agent.sessions.approvals import Approval
from agent.sessions.leases import Question
from agent.sessions.sessions import Sessions
from agent.tooling.tool import Tool, tool
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn.loop import Limits
from tests.agent.adapters.dynamodb.tables import FailingClient, store_over
from tests.agent.edge.desk import DAY, FAULTS
from tests.agent.edge.whole_function import TABLE
from tests.fakes import FakeClock, FakeJournal, FakeModel, Scripted, asks, reply, thought, use

_serial = itertools.count(1)
_leases = itertools.count(1)


class Locked:
    """A client whose calls are made one at a time, as DynamoDB makes those at one item."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._lock = threading.Lock()

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        def call(**parameters: Any) -> Any:
            with self._lock:
                return getattr(self._client, operation)(**parameters)

        return call


class Script(Iterator[Scripted]):
    """Replies to come; more can be added at any time."""

    def __init__(self) -> None:
        self.left: deque[Scripted] = deque()

    def __next__(self) -> Scripted:
        if not self.left:
            raise StopIteration
        return self.left.popleft()


@dataclass
class Office:
    """A session of an agent with the tools `refund` (needs a yes), `write` (side effects) and `look` (neither).

    `ran` tells what was run. Each call of `sessions` is a new process over the same table.
    """

    client: FailingClient
    key: str = field(default_factory=lambda: f"office-{next(_serial)}")
    clock: FakeClock = field(default_factory=lambda: FakeClock(1_800_000_000.0))
    journal: FakeJournal = field(default_factory=FakeJournal)
    ran: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)  # tool use id -> the approval id that an answer named last
    script: Script = field(default_factory=Script)
    while_running: Callable[[], None] = lambda: None
    more_tools: Sequence[Tool[..., Any]] = ()
    tool_limits: ToolLimits = field(default_factory=ToolLimits)
    limits: Limits = field(default_factory=Limits)
    pairs: int = 10
    approval_seconds: int = DAY

    def __post_init__(self) -> None:
        self.model = FakeModel(self.script)

    def tools(self) -> list[Tool[..., Any]]:
        @tool(needs_approval=True)
        def refund(order: Annotated[str, "its number"], amount: int = 1) -> str:
            """Pays an order back."""
            self.ran.append(f"refund {order} {amount}")
            self.while_running()
            return "refunded"

        @tool(side_effects=True)
        def write(text: str = "blank") -> str:
            """Writes a note."""
            self.ran.append(f"write {text}")
            return "written"

        @tool
        def look() -> str:
            """Looks at the shop."""
            self.ran.append("look")
            return "open"

        return [refund, write, look, *self.more_tools]

    def sessions(self) -> Sessions:
        return Sessions(
            models=[self.model],
            store=store_over(self.client),
            toolbox=Toolbox(self.tools(), self.tool_limits),
            journal=self.journal,
            logger=logging.getLogger("agent"),
            system="Be brief.",
            limits=self.limits,
            pairs=self.pairs,
            ttl_seconds=30 * DAY,
            approval_seconds=self.approval_seconds,
            new_id=lambda: f"{next(_leases):032x}",
            now=self.clock,
        )

    def ask(self, *replies: Scripted, text: str = "refund it", request: str = "") -> dict[str, Any]:
        """Asks a question that the model answers with these replies."""
        self.script.left.extend(replies)
        request = request or f"request-{next(_serial)}"
        question = Question(self.key, self.key, request, "owner", text, self.clock.deadline(60))
        return self._noted(self.sessions().ask(question))

    def approve(self, *replies: Scripted, by: str = "boss", **verdicts: bool | str) -> dict[str, Any]:
        """Says yes (True), no (False) or no with this reason; the model goes on with these replies."""
        return self.decide(verdicts, *replies, by=by)

    def decide(self, verdicts: Mapping[str, bool | str], *replies: Scripted, by: str = "boss") -> dict[str, Any]:
        """The same with any ids: a tool use id stands for the approval id that an answer named last."""
        self.script.left.extend(replies)
        named = {self.ids.get(name, name): verdict for name, verdict in verdicts.items()}
        return self._noted(self.sessions().approve(self.approval(named, by)))

    def approval(self, verdicts: Mapping[str, bool | str], by: str = "boss") -> Approval:
        """What a person says of the tool uses with these very ids."""
        said = {name: (False, v) if isinstance(v, str) else (v, "") for name, v in verdicts.items()}
        return Approval(self.key, self.key, "owner", by, said, self.clock.deadline(60))

    def _noted(self, answer: dict[str, Any]) -> dict[str, Any]:
        self.ids |= {each["tool_use_id"]: each["approval_id"] for each in answer.get("approvals", [])}
        return answer

    def wait(self, *blocks: Any, request: str = "") -> dict[str, Any]:
        """A question whose answer waits: by default for the refund of order 7, asked as t1."""
        answer = self.ask(asks(*(blocks or (use("t1", "refund", {"order": "7"}),)), tokens=10), request=request)
        assert answer["stop_reason"] == "awaiting_approval"
        return answer

    def item(self) -> dict[str, Any]:
        """The newest item, its JSON texts as values."""
        return {name: _plain(value) for name, value in self.items()[-1].items()}

    def items(self) -> list[dict[str, Any]]:
        values = {":key": {"S": self.key}}
        found = self.client._client.query(
            TableName=TABLE, KeyConditionExpression="session_id = :key", ExpressionAttributeValues=values
        )
        return list(found["Items"])

    def edit(self, **attributes: Any) -> None:
        """Changes the newest item by hand; what is no attribute value is written as JSON."""
        item = self.items()[-1]
        for name, value in attributes.items():
            is_wire = isinstance(value, dict) and set(value) in ({"S"}, {"N"}, {"L"}, {"B"})
            item[name] = value if is_wire else {"S": json.dumps(value)}
        self.put(item)

    def put(self, item: dict[str, Any]) -> None:
        """Writes an item by hand."""
        self.client._client.put_item(TableName=TABLE, Item=item)

    def put_running(self) -> None:
        """Writes a turn that another process runs just now."""
        lease = {"lease_id": {"S": "another"}, "lease_until": {"N": str(round((self.clock() + 60) * 1000))}}
        key = {"session_id": {"S": self.key}, "turn": {"N": "1"}}
        self.client._client.put_item(TableName=TABLE, Item={**key, **lease, "status": {"S": "running"}})

    def decisions(self) -> dict[str, Any]:
        """What was decided in the newest turn, by tool use id where an answer named one."""
        names = {approval_id: tool_use_id for tool_use_id, approval_id in self.ids.items()}
        stored = self.item().get("approvals", {"decisions": {}})["decisions"]
        return {names.get(name, name): decision for name, decision in stored.items()}

    def statuses(self) -> list[str]:
        return [item["status"]["S"] for item in self.items()]

    def results(self) -> list[str]:
        """What the results of the newest request's last message say."""
        content = self.model.requests[-1].messages[-1]["content"]
        return [json.dumps(block["toolResult"]["content"]) for block in content]

    def goes_on(self) -> None:
        """The next question is answered as any other, with a history that every model takes."""
        self.clock.advance(70)  # beyond any lease
        answer = self.ask(reply("Sure."), text="and now?")
        assert (answer["answer"], answer["stop_reason"], answer.get("saved", True)) == ("Sure.", "end_turn", True)

    def mend(self) -> None:
        """The table works again."""
        self.client.before = self.client.after = lambda operation, count: None

    def die(self, request: Any, deadline: Any) -> ModelReply:
        """A reply at which the process dies: nothing is freed or saved any more."""
        self.client.before = lambda operation, count: FAULTS[-1]
        raise ModelUnavailableError

    def live_again(self) -> None:
        """The table works again, and the lease of who died has ended."""
        self.mend()
        self.clock.advance(70)

    def pause_inside(self) -> tuple[threading.Event, threading.Event]:
        """Has the refund say that it runs (the first event), and wait until it may go on (the second)."""
        runs, may_end = threading.Event(), threading.Event()

        def hold() -> None:
            runs.set()
            assert may_end.wait(10)

        self.while_running = hold
        return runs, may_end

    def approve_beside(self, *replies: Scripted) -> "Future[dict[str, Any]]":
        """Approves t1 in a thread of its own."""
        self.script.left.extend(replies)
        return start(lambda: self.approve(t1=True))


def thinking_refund(number: int = 1) -> Any:
    """A reply that thinks before it asks for a refund."""
    thoughts = [thought(f"hm {number} é ", f"c2ln{number}"), {"reasoningContent": {"redactedContent": b"\x00\xff\x10"}}]
    return asks(*thoughts, "Let me see.", use(f"t{number}", "refund", {"order": str(number)}))


def _plain(value: dict[str, Any]) -> Any:
    text = next(iter(value.values()))
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text
