"""A function over fakes whose answers stream, for a process of its own."""

import itertools
import logging
import time
from collections.abc import Mapping

from agent.adapters.runtime import LambdaRuntime
from agent.deadline import Deadline
from agent.edge.entrance import App, Entrance
from agent.edge.function import Function
from agent.edge.streams import Streams
from agent.errors import ModelError
from agent.ports import ModelReply, ModelRequest, TextListener
from agent.sessions.inbox import Inbox
from agent.sessions.sessions import Sessions
from agent.settings import Settings
from agent.tooling.toolbox import Toolbox, ToolLimits
from agent.turn.loop import Limits
from tests.agent.edge.stage import Failures
from tests.fakes import FakeJournal, FakeStore, reply


class SpeakingModel:
    """Answers by the question: `slowly`, `break` in the middle, `a lot`, or plainly."""

    model_id = "speaking"

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        question = request.messages[-1]["content"][0]["text"]
        pieces = ["x" * 10_000] * 1_000 if question == "a lot" else ["One. ", "Two. ", "Three."]
        for piece in pieces if listener else []:
            assert listener
            listener.text(piece)
            if question.startswith("slowly"):
                time.sleep(0.1)
            if question == "break":
                raise ModelError
        return reply("".join(pieces))


def make(environment: Mapping[str, str]) -> Function:
    """The function; what it warns of goes to the log."""
    serial = itertools.count(1)

    def warn(message: str, **fields: object) -> None:
        logging.getLogger("agent").warning("%s %s", message, fields)

    store = FakeStore()
    sessions = Sessions(
        models=[SpeakingModel()],
        store=store,
        toolbox=Toolbox([], ToolLimits()),
        journal=FakeJournal(),
        logger=logging.getLogger("agent"),
        system="Be brief.",
        limits=Limits(),
        pairs=10,
        ttl_seconds=86_400,
        new_id=lambda: f"lease {next(serial)}",
    )
    settings = Settings.from_environment({"MODEL_ID": "m", "TABLE_NAME": "t", "STREAMING": "true"})
    runtime = LambdaRuntime(environment, warn)
    return Function(
        Entrance(App(settings, sessions, Inbox(store, time.time)), None),
        Failures(),
        Streams(runtime.open, warn).of,
    )
