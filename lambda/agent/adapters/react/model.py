"""Tool use for models that have none: the request becomes a ReAct prompt, and the text that comes back Converse blocks.

The format is that of the paper ReAct (Yao et al., 2022, arXiv:2210.03629), in English or Japanese.
"""

import hashlib
from collections.abc import Sequence

from msgspec.structs import replace

from agent.adapters.react.hearing import Hearing
from agent.adapters.react.json_steps import step_in_json
from agent.adapters.react.prompt import STOP_SEQUENCES, Words, react_request, words_for
from agent.adapters.react.reading import Reading, read, said
from agent.deadline import Deadline
from agent.errors import OutOfTimeError, PromptTooLongError
from agent.messages import Block, Message, assistant_text, clean_text, has_tool_results, tool_uses, unique_id, user_text
from agent.ports import Model, ModelReply, ModelRequest, TextListener

_ENDED = ("end_turn", "stop_sequence", "tool_use")  # the model said all that it meant to say
_CUT = ("max_tokens", "model_context_window_exceeded")
_QUOTED_CHARS = 4_000  # of a reply that is sent back to be corrected


class ReActModel:
    """A Model that uses tools, made of one that only writes text.

    Each reply is one tool use or an answer. One that can't be read is sent back once, which isn't a step of the turn; if the
    next can't be read either, the answer says so. Thoughts stand in thinking tags, which nobody is shown.
    """

    def __init__(self, model: Model) -> None:
        self.model_id = model.model_id
        self._model = model

    def converse(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None = None) -> ModelReply:
        """One answer; see the Model port for what it raises."""
        if not (request.tools or any(tool_uses(m) or has_tool_results(m) for m in request.messages)):
            return self._model.converse(request, deadline, listener)
        words = words_for(request.messages)
        prompt = react_request(request, words)
        schemas = {each["toolSpec"]["name"]: each["toolSpec"]["inputSchema"]["json"] for each in request.tools}
        before = deadline.left()
        reply = self._ask(prompt, deadline, listener)
        reading = _reading(reply, schemas)
        if _is_wrong(reading, reply) and deadline.left() > before - deadline.left():
            first = reply
            again = _corrected(prompt, _text(first), words.problems[reading.problem], words)
            if listener:
                listener.void()
            try:
                reply = self._ask(again, deadline, listener)
            except (OutOfTimeError, PromptTooLongError):
                pass  # the first reply was paid for, and is told as it is
            else:
                reply = replace(reply, usage=first.usage + reply.usage)
                reading = _reading(reply, schemas)
        if _is_wrong(reading, reply):
            return replace(reply, content=[{"text": _text(reply).strip()}], remark=words.not_understood)
        content = _content(reading, _tool_use_id(request.messages, prompt, reply))
        return replace(reply, content=content, stop_reason=_stop_reason(reading, reply.stop_reason))

    def _ask(self, request: ModelRequest, deadline: Deadline, listener: TextListener | None) -> ModelReply:
        hearing = Hearing(listener) if listener else None
        return self._model.converse(replace(request, stop_sequences=STOP_SEQUENCES), deadline, hearing)


def _text(reply: ModelReply) -> str:
    return clean_text("\n".join(block["text"] for block in reply.content if isinstance(block.get("text"), str)))


def _reading(reply: ModelReply, schemas: dict[str, dict[str, object]]) -> Reading:
    text = said(_text(reply))
    reading = read(text, schemas, cut_off=reply.stop_reason not in _ENDED)
    if reading.problem or reading.answer == text.strip():
        return step_in_json(text, schemas) or reading
    in_json = step_in_json(reading.answer, {}) if reading.answer.startswith("{") else None
    return replace(reading, answer=in_json.answer) if in_json and in_json.answer else reading


def _is_wrong(reading: Reading, reply: ModelReply) -> bool:
    """Whether there is something to correct, and not just something missing that was cut off."""
    return bool(reading.problem) and (reply.stop_reason in _ENDED or (reply.stop_reason in _CUT and reading.is_whole))


def _corrected(prompt: ModelRequest, text: str, problem: str, words: Words) -> ModelRequest:
    said = assistant_text(text.strip()[:_QUOTED_CHARS])
    return replace(prompt, messages=[*prompt.messages, said, user_text(words.correction.format(problem=problem))])


def _content(reading: Reading, tool_use_id: str) -> list[Block]:
    content: list[Block] = [{"text": f"<thinking>{reading.thought}</thinking>"}] if reading.thought else []
    if reading.name:
        content.append({"toolUse": {"toolUseId": tool_use_id, "name": reading.name, "input": reading.input}})
    elif reading.answer:
        content.append({"text": reading.answer})
    return content


def _stop_reason(reading: Reading, stop_reason: str) -> str:
    """A model that runs on behind a whole step, because it knows no stop sequences, is cut off where nothing is lost."""
    if stop_reason in _ENDED or (stop_reason in _CUT and reading.is_whole):
        return "tool_use" if reading.name else "end_turn"
    return stop_reason


def _tool_use_id(messages: Sequence[Message], prompt: ModelRequest, reply: ModelReply) -> str:
    """An id that the same conversation gets again and no other does, so that no yes to one call can be taken for another."""
    sent = [block["text"] for message in prompt.messages for block in message["content"]]
    digest = hashlib.sha256("\0".join([*sent, _text(reply)]).encode(errors="replace")).hexdigest()
    return unique_id(f"react_{digest[:24]}", {use["toolUseId"] for message in messages for use in tool_uses(message)})
