"""Fakes of the outside world: a model that judges each request by the rules of Bedrock, a store, a journal, a clock."""

import base64
import copy
import itertools
import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from agent.adapters.bedrock.model import BedrockModel, Inference
from agent.deadline import Deadline
from agent.errors import SessionBusyError
from agent.messages import Block, Usage
from agent.ports import IndexKey, ModelReply, ModelRequest, StoredTurn, TextListener, ToolRecord, seconds_left
from agent.sessions.states import state_of
from local.bedrock.issued import Issued
from local.bedrock.rules import violations

CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
FABLE = "us.anthropic.claude-fable-5-1"
NOVA = "amazon.nova-pro-v1:0"
LLAMA = "us.meta.llama3-3-70b-instruct-v1:0"
MISTRAL = "mistral.mistral-large-2407-v1:0"
FAMILIES = (FABLE, NOVA, LLAMA, MISTRAL)  # Fable keeps all rules of Claude, and R-PREFIX too

Scripted = ModelReply | BaseException | Callable[[ModelRequest, Deadline], ModelReply]


def reply(*content: Any, stop_reason: str = "end_turn", tokens: int = 0) -> ModelReply:
    """A reply of these blocks, a bare string being a text; `tokens` go half in, half out."""
    blocks = [{"text": block} if isinstance(block, str) else block for block in content]
    return ModelReply(blocks, stop_reason, Usage(tokens // 2, tokens - tokens // 2), NOVA)


def use(tool_use_id: Any, name: Any = "echo", tool_input: Any = None) -> Block:
    """A toolUse block; without an input it has an empty one."""
    return {"toolUse": {"toolUseId": tool_use_id, "name": name, "input": {} if tool_input is None else tool_input}}


def asks(*blocks: Any, tokens: int = 0) -> ModelReply:
    """A reply that asks for tools."""
    return reply(*blocks, stop_reason="tool_use", tokens=tokens)


def thought(text: str = "think", signature: str | None = "c2lnbmVk") -> Block:
    """A reasoningContent block."""
    return {"reasoningContent": {"reasoningText": {"text": text, **({"signature": signature} if signature else {})}}}


class FakeClock:
    """A clock that stands still until it is told otherwise. Call it for the time, in seconds."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds

    def deadline(self, seconds: float) -> Deadline:
        return Deadline.after(seconds, self, reserve=1.5)


class FakeModel:
    """A model that answers from a script: a reply, an error to raise, or a function that makes the reply.

    Each request is copied, and judged as the Bedrock adapter would send it to each of `model_ids`; one that breaks a rule
    of level error ends the test, whatever stands between. `seconds` pass on the clock with every call.
    """

    def __init__(
        self,
        replies: Iterable[Scripted],
        *,
        model_ids: Sequence[str] = FAMILIES,
        clock: FakeClock | None = None,
        seconds: float = 0,
    ) -> None:
        self.model_id = NOVA
        self.requests: list[ModelRequest] = []
        self.clock = clock or FakeClock()
        self.seconds = seconds
        self._replies = iter(replies)
        self._issued: dict[str, Issued] = {model_id: Issued() for model_id in model_ids}

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        request = copy.deepcopy(request)
        self.requests.append(request)
        bodies = {model_id: wire_body(request, model_id) for model_id in self._issued}
        for model_id, issued in self._issued.items():
            judge(model_id, bodies[model_id], issued)
        self.clock.advance(self.seconds)
        scripted = next(self._replies, None)
        if scripted is None:
            pytest.fail("the model was called more often than its script has replies")
        if isinstance(scripted, BaseException):
            raise scripted
        answer = copy.deepcopy(scripted) if isinstance(scripted, ModelReply) else scripted(request, deadline)
        answer = replace(answer, model_id=self.model_id)
        for model_id, issued in self._issued.items():
            issued.record(bodies[model_id], _without_bytes(list(answer.content)))
        if listener:
            stream(answer, listener)
        return answer


def stream(answer: ModelReply, listener: TextListener, characters: int = 3) -> None:
    """Has the listener hear the texts of a reply in pieces, with a line's end between two blocks, as an adapter would."""
    texts = [block["text"] for block in answer.content if isinstance(block.get("text"), str)]
    for number, text in enumerate(texts):
        whole = "\n" + text if number else text
        for start in range(0, len(whole), characters):
            listener.text(whole[start : start + characters])


def judge(model_id: str, body: dict[str, Any], issued: Issued | None = None) -> None:
    """Ends the test where Bedrock would refuse the body."""
    broken = [f"{f.rule}: {f.message}" for f in violations(model_id, body, issued=issued) if f.level == "error"]
    if broken:
        # no Exception, so that no `except Exception` under test hides it
        pytest.fail(f"{model_id} would refuse the request: {'; '.join(broken)}\n{str(body)[:2000]}")


def wire_body(request: ModelRequest, model_id: str, inference: Inference | None = None) -> dict[str, Any]:
    """The JSON body that the Bedrock adapter sends for a request."""
    client = _Recorder()
    BedrockModel(client, model_id, inference or Inference(1024)).converse(request, Deadline.after(60))
    return client.sent


class _Recorder:
    def __init__(self) -> None:
        self.sent: dict[str, Any] = {}

    def post(self, path: str, body: bytes, deadline: Deadline) -> "_Recorder":
        self.sent = json.loads(body)
        return self

    def body(self) -> bytes:
        return b'{"output": {"message": {"role": "assistant", "content": [{"text": "ok"}]}}, "stopReason": "end_turn"}'


def _without_bytes(value: Any) -> Any:
    """The value as JSON carries it: bytes in base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _without_bytes(item) for key, item in value.items()}
    return [_without_bytes(item) for item in value] if isinstance(value, list) else value


def _lean(turn: StoredTurn) -> StoredTurn:
    return replace(turn, question="", response=None, usage={}, created_at="")


class FakeStore:
    """A SessionStore in memory that behaves like DynamoDBStore.

    `calls` tells the methods in order; an error in `fails[method]` is raised by the next call of that method.
    """

    def __init__(self, turns: Iterable[StoredTurn] = ()) -> None:
        self.items: dict[tuple[str, int], StoredTurn] = {(turn.key, turn.turn): copy.deepcopy(turn) for turn in turns}
        self.calls: list[str] = []
        self.fails: defaultdict[str, deque[BaseException]] = defaultdict(deque)

    def load(self, key: str, pairs: int, now: float, deadline: Deadline, *, whole: bool = False) -> list[StoredTurn]:
        self._called("load")
        kept = sorted((t for t in self.items.values() if t.key == key), key=lambda turn: turn.turn, reverse=True)
        page, loaded = pairs + 25, list[StoredTurn]()
        for start in range(0, len(kept), page):
            loaded += [turn for turn in kept[start : start + page] if 0 < turn.turn < 10**15]
            if sum(state_of(turn, now).is_pair for turn in loaded) >= pairs:
                break
        return copy.deepcopy(loaded if whole else [_lean(turn) for turn in loaded])

    def get(self, key: str, turn: int, deadline: Deadline) -> StoredTurn | None:
        self._called("get")
        return copy.deepcopy(self.items.get((key, turn)))

    def reserve(self, turn: StoredTurn, replacing: StoredTurn | None, now: float, deadline: Deadline) -> None:
        self._called("reserve")
        standing = self.items.get((turn.key, turn.turn))
        is_ours = standing and replacing and standing.lease_id in (replacing.lease_id, "")
        is_as_seen = is_ours and standing and replacing and standing.status == replacing.status
        if not (standing is replacing is None or is_as_seen):
            raise SessionBusyError(retry_after=seconds_left(standing.lease_until if standing else 0, now))
        self.items[turn.key, turn.turn] = copy.deepcopy(turn)

    def lease(self, turn: StoredTurn, seen: StoredTurn, now: float, deadline: Deadline) -> None:
        self._called("lease")
        standing = self.items.get((turn.key, turn.turn))
        if not standing or (standing.status, standing.lease_id) != (seen.status, seen.lease_id):
            raise SessionBusyError(retry_after=seconds_left(standing.lease_until if standing else 0, now))
        kept = {} if turn.waiting else {"waiting": "", "waiting_since": ""}
        changed = replace(standing, lease_id=turn.lease_id, lease_until=turn.lease_until, **kept)
        self.items[turn.key, turn.turn] = changed

    def save(self, turn: StoredTurn, deadline: Deadline) -> None:
        self._called("save")
        standing = self._held(turn)
        if standing is None:
            raise SessionBusyError
        if turn.messages is None:  # an update leaves what it doesn't name
            turn = replace(turn, messages=standing.messages)
        if turn.response is None:
            turn = replace(turn, response=standing.response, usage=standing.usage)
        self.items[turn.key, turn.turn] = copy.deepcopy(turn)

    def free(self, turn: StoredTurn, deadline: Deadline) -> None:
        self._called("free")
        standing = self.items.get((turn.key, turn.turn))
        if standing and standing.lease_id != turn.lease_id:
            raise SessionBusyError
        self.items.pop((turn.key, turn.turn), None)

    def trim(self, key: str, turns: Sequence[int], deadline: Deadline) -> None:
        self._called("trim")
        if not 0 < len(turns) <= 25:
            pytest.fail(f"one call can delete 1 to 25 items, not {len(turns)}")
        for turn in turns:
            self.items.pop((key, turn), None)

    def forget(self, key: str, now: float, deadline: Deadline) -> None:
        self._called("forget")
        held = [turn for turn in self.items.values() if turn.key == key]
        for turn in held:
            if state_of(turn, now).holds:
                raise SessionBusyError(retry_after=seconds_left(turn.lease_until, now))
        for turn in held:
            del self.items[turn.key, turn.turn]

    def page(self, caller: str, after: IndexKey | None, deadline: Deadline) -> tuple[list[IndexKey], IndexKey | None]:
        self._called("page")
        entries = sorted(
            (turn.waiting, turn.waiting_since, turn.key, turn.turn)
            for turn in self.items.values()
            if turn.waiting and caller in ("", turn.waiting)
        )
        begin = (after.waiting, after.waiting_since, after.session_id, after.turn) if after else ("", "", "", 0)
        left = [entry for entry in entries if entry > begin]
        keys = [IndexKey(key, turn, waiting, since) for waiting, since, key, turn in left[:50]]
        return keys, keys[-1] if len(left) > 50 else None

    def turn_and_next(self, key: str, turn: int, deadline: Deadline) -> list[StoredTurn]:
        self._called("turn_and_next")
        return copy.deepcopy([each for each in self.turns(key) if each.turn >= turn][:2][::-1])

    def turns(self, key: str) -> list[StoredTurn]:
        """What stands there, the oldest first."""
        return sorted((t for t in self.items.values() if t.key == key), key=lambda turn: turn.turn)

    def _held(self, turn: StoredTurn) -> StoredTurn | None:
        standing = self.items.get((turn.key, turn.turn))
        return standing if standing and standing.lease_id == turn.lease_id else None

    def _called(self, method: str) -> None:
        self.calls.append(method)
        if self.fails[method]:
            raise self.fails[method].popleft()


@dataclass
class FakeJournal:
    """A journal that remembers."""

    tool_uses: list[tuple[str, ToolRecord]] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    approvals: list[tuple[str, str, str, bool, str]] = field(default_factory=list)
    first_texts: list[float] = field(default_factory=list)

    def tool_use(self, session_id: str, record: ToolRecord) -> None:
        self.tool_uses.append((session_id, record))

    def approval(self, session_id: str, tool_use_id: str, tool: str, approved: bool, by: str) -> None:
        self.approvals.append((session_id, tool_use_id, tool, approved, by))

    def turn(
        self,
        answer: dict[str, Any],
        question: str,
        request_id: str,
        caller: str,
        seconds: float,
        first_text: float | None = None,
    ) -> None:
        if first_text is not None:
            self.first_texts.append(first_text)
        more = {"question": question, "request_id": request_id, "caller": caller, "seconds": seconds}
        self.turns.append(copy.deepcopy(answer) | more)

    def warning(self, message: str, **fields: object) -> None:
        self.warnings.append((message, fields))


class Heard:
    """What a listener was told, in order; `shown` is what a person would have before them of each step."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.shown: defaultdict[int, str] = defaultdict(str)

    def __call__(self, event: str, data: dict[str, Any]) -> None:
        self.events.append((event, data))
        if event == "text":
            self.shown[data["step"]] += data["text"]
        if event == "void":
            self.shown[data["step"]] = ""

    @property
    def names(self) -> list[str]:
        """The events' names, those in a row but once."""
        return [name for name, _ in itertools.groupby(name for name, _ in self.events)]


class FakeContext:
    """What Lambda hands to a handler, on a clock that stands still unless it is advanced."""

    function_name = "agent"
    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:agent"

    def __init__(
        self, aws_request_id: str = "invocation-1", seconds: float = 60, clock: FakeClock | None = None
    ) -> None:
        self.aws_request_id = aws_request_id
        self.clock = clock or FakeClock()
        self._deadline = self.clock.deadline(seconds)

    def get_remaining_time_in_millis(self) -> int:
        return int(self._deadline.left() * 1000)
