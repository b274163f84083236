"""The whole function with a tool that needs a yes: what one process asks, another approves."""

import json
from typing import Any

from msgspec.structs import replace

from agent.edge.callers import caller_of
from agent.ports import SessionStore
from agent.tooling.tool import Tool, ToolContext, tool
from agent.tooling.toolbox import Toolbox, ToolLimits
from local.bedrock.reply import Reply
from tests.agent.edge.gateway_events import Maker, checked, http_api
from tests.agent.edge.test_edge_callers import jwt
from tests.agent.edge.whole_function import Whole, function_at, unique
from tests.fakes import FakeContext

ALICE, BOB, EVE = jwt("alice"), jwt("bob"), jwt("eve")
BOSS = caller_of(BOB, "session")
OWNER = caller_of(ALICE, "session")
CALL = {"tool_use": {"name": "refund", "input": {"order": "7"}, "id": "t1"}}


SECOND = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
ENVIRONMENTS: dict[str, dict[str, str]] = {
    "asks": {},
    "decides": {},
    "approves": {"APPROVERS": BOSS},
    "approves for anonymous": {"APPROVERS": "anonymous"},
    "falls back": {"FALLBACK_MODEL_IDS": SECOND},
    "falls back later": {"FALLBACK_MODEL_IDS": SECOND},
    "has another model": {"MODEL_ID": SECOND},
}


class Processes:
    """Functions over one table, each with an environment of its own."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.functions = {name: function_at(whole.server, **more) for name, more in ENVIRONMENTS.items()}
        self.stores = {each: each.entrance.running().sessions.store for each in self.functions.values()}


class Noted:
    """A store whose calls are noted."""

    def __init__(self, store: SessionStore, calls: list[str]) -> None:
        self._store = store
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        self._calls.append(name)
        return getattr(self._store, name)


class Shop:
    """A session of an agent whose only tool needs a yes. What one process asks, another approves."""

    def __init__(self, processes: Processes) -> None:
        self.whole = processes.whole
        self.ran: list[str] = []
        self.calls: list[str] = []  # of the store
        self.contexts: list[tuple[str, str]] = []  # of what ran: whose session, and who said yes
        self.session = unique()
        self.asked = ""  # the approval id of the call that waits
        self._functions = processes.functions
        for function in self._functions.values():
            app = function.entrance.running()
            store = Noted(processes.stores[function], self.calls)
            sessions = replace(app.sessions, store=store, toolbox=Toolbox([self._refund()], ToolLimits()))
            function.entrance = replace(function.entrance, app=replace(app, sessions=sessions))

    def _refund(self) -> Tool[[str, ToolContext], str]:
        @tool(needs_approval=True)
        def refund(order: str, context: ToolContext) -> str:
            """Pays an order back."""
            self.ran.append(order)
            self.contexts.append((context.caller, context.approver))
            return "refunded"

        return refund

    def call(self, event: object, process: str = "decides") -> tuple[Any, Any]:
        return self._functions[process].answer(event, FakeContext(unique("invocation")))

    def http(self, event: object, process: str = "decides") -> tuple[int, Any]:
        response, error = self.call(event, process)
        assert error is None
        return checked(response)["statusCode"], json.loads(response["body"])

    def wait(self, maker: Maker = http_api, **context: Any) -> dict[str, Any]:
        """Asks over HTTP, and the answer waits."""
        self.whole.play(CALL, {"text": "Done."})
        status, answer = self.http(maker(body={"question": "refund it", "session_id": self.session}, **context), "asks")
        assert (status, answer["stop_reason"], self.ran) == (200, "awaiting_approval", [])
        self.asked = answer["approvals"][0]["approval_id"]
        return dict(answer)

    def wait_for(self, *uses: Any, **context: Any) -> list[dict[str, Any]]:
        """Asks over HTTP for these tool uses; what waits."""
        self.whole.play(Reply(list(uses), "tool_use"), {"text": "Done."})
        event = http_api(body={"question": "refund it", "session_id": self.session}, **context)
        return list(self.http(event, "asks")[1]["approvals"])

    def wait_directly(self) -> None:
        """The same as a direct event."""
        self.whole.play(CALL, {"text": "Done."})
        answer, _ = self.call({"question": "refund it", "session_id": self.session}, "asks")
        self.asked = answer["approvals"][0]["approval_id"]

    def decision(self, key: str) -> dict[str, Any]:
        """What is stored of the decision about what waited."""
        stored = json.loads(self.whole.items(key)[0]["approvals"]["S"])
        return dict(stored["decisions"][self.asked])

    def yes(self, **more: Any) -> dict[str, Any]:
        """The body that says yes to what waits."""
        return {"approvals": {self.asked or "t1": True}, **more}

    def approve(
        self, maker: Maker = http_api, body: Any = None, process: str = "decides", **context: Any
    ) -> tuple[int, Any]:
        said = self.yes() if body is None else body
        return self.http(maker("POST", f"/sessions/{self.session}/approvals", said, **context), process)
