"""The adapter set up for tests: it never waits, and says how long it would have."""

from typing import Any

from agent.adapters.bedrock.model import Inference
from agent.adapters.openai.model import OpenAIModel
from agent.aws.transport import Transport
from agent.deadline import Deadline
from agent.messages import Message, user_text
from agent.ports import ModelReply, ModelRequest
from tests.agent.adapters.openai.openai_server import OpenAIServer

MODEL = "qwen3:8b"
SPEC = {
    "toolSpec": {
        "name": "echo",
        "description": "Say it again.",
        "inputSchema": {"json": {"type": "object", "properties": {"text": {"type": "string"}}}},
    }
}


def model_of(
    server: OpenAIServer, *, waits: list[float] | None = None, key: Any = str, **inference: Any
) -> OpenAIModel:
    """A model behind the server; `waits` gets the seconds that it pauses. Without a key it sends none."""
    sleep = (waits if waits is not None else []).append
    asked = Inference(**{"max_tokens": 64, **inference})
    return OpenAIModel(Transport({}), server.url, MODEL, lambda _: key(), asked, sleep=sleep)


def request(*messages: Message, system: str = "", tools: Any = (), **more: Any) -> ModelRequest:
    """A request, of one question where no messages are given."""
    return ModelRequest(system, list(messages) or [user_text("question")], list(tools), **more)


def ask(server: OpenAIServer, asked: ModelRequest | None = None, *, seconds: float = 20, **options: Any) -> ModelReply:
    """One answer of a new model behind the server."""
    return model_of(server, **options).converse(asked or request(), Deadline.after(seconds))
