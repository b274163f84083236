"""Several models for one turn: the next is tried where one is throttled, unavailable, in error or set up wrongly, and stays.

Reasoning is signed by the model that thought it, so another model gets the messages without it.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from agent.deadline import Deadline
from agent.errors import MisconfiguredError, ModelError, ModelThrottledError, ModelUnavailableError
from agent.messages import Message, assistant_text, user_text
from agent.ports import Journal, Model, ModelReply, ModelRequest, TextListener

_TAKEN_OVER = "(Another model goes on from here.)"
_GO_ON = "Go on with the question."


class Fallback:
    """The Model port over models in their order, for one turn."""

    def __init__(self, models: Sequence[Model], journal: Journal) -> None:
        self._models = list(models)
        self._journal = journal

    @property
    def model_id(self) -> str:
        """The model that is asked next."""
        return self._models[0].model_id

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        """One answer of the first model that gives one. Raises what the last one raises."""
        while True:
            model = self._models[0]
            try:
                return model.converse(replace(request, messages=_readable(request.messages, model)), deadline, listener)
            except (ModelThrottledError, ModelUnavailableError, ModelError, MisconfiguredError) as error:
                theirs = not isinstance(error, MisconfiguredError) or error.another_may_do
                if len(self._models) == 1 or deadline.left() <= 0 or not theirs:
                    raise
                if listener:
                    listener.void()
                self._journal.warning(
                    "another model is asked",
                    model=model.model_id.rpartition("/")[2],
                    code=error.code,
                    detail=error.detail,
                )
                del self._models[0]


def is_named(model: Model, name: str) -> bool:
    """Whether an answer or a message that names its model names this one: in full, or by what follows the account in its ARN."""
    return name in (model.model_id, model.model_id.rpartition("/")[2])


def _readable(messages: Sequence[Message], model: Model) -> Sequence[Message]:
    """The messages without what another model reasoned; where it did in the tool loop under way, that loop ends behind it.

    A tool loop that began with reasoning can't go on without it.
    """
    foreign = [n for n, message in enumerate(messages) if "model" in message and not is_named(model, message["model"])]
    if not foreign:
        return messages
    own: list[Message] = [
        {"role": m["role"], "content": [b for b in m["content"] if "reasoningContent" not in b]} if n in foreign else m
        for n, m in enumerate(messages)
    ]
    end = foreign[-1] + 2  # behind the results of the last one
    return [*own[:end], assistant_text(_TAKEN_OVER), user_text(_GO_ON), *own[end:]]
