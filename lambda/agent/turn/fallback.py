"""Several models for one turn: the next is tried where one is throttled, unavailable or in error, and then stays.

Reasoning is signed by the model that thought it, so another model gets the messages without it.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from agent.deadline import Deadline
from agent.errors import ModelError, ModelThrottledError, ModelUnavailableError
from agent.messages import Block, Message, assistant_text, has_tool_results, user_text
from agent.ports import Journal, Model, ModelReply, ModelRequest, TextListener

_TAKEN_OVER = "(Another model goes on from here.)"
_GO_ON = "Go on with the question."


class Fallback:
    """The Model port over models in their order, for one turn."""

    def __init__(self, models: Sequence[Model], journal: Journal) -> None:
        self._models = list(models)
        self._journal = journal
        self._foreign: list[Block] = []
        self._closed_at = 0  # how many messages stood before the present model took over in the middle of a tool loop

    @property
    def model_id(self) -> str:
        """The model that is asked next."""
        return self._models[0].model_id

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        """One answer of the first model that gives one. Raises what the last one raises."""
        while True:
            model = self._models[0]
            try:
                return model.converse(replace(request, messages=self._own(request.messages)), deadline, listener)
            except (ModelThrottledError, ModelUnavailableError, ModelError) as error:
                if len(self._models) == 1 or deadline.left() <= 0:
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
                self._foreign = [b for m in request.messages for b in m["content"] if "reasoningContent" in b]
                if self._foreign and has_tool_results(request.messages[-1]):
                    self._closed_at = len(request.messages)

    def _own(self, messages: Sequence[Message]) -> Sequence[Message]:
        if not self._foreign:
            return messages
        own: list[Message] = [
            {"role": m["role"], "content": [block for block in m["content"] if block not in self._foreign]}
            for m in messages
        ]
        # a tool loop that began with reasoning can't go on without it, so it ends here for the model that takes over
        between = [assistant_text(_TAKEN_OVER), user_text(_GO_ON)] if self._closed_at else []
        return [*own[: self._closed_at], *between, *own[self._closed_at :]]
