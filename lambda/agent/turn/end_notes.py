"""How a turn ends, in words: whatever stopped it, the answer is honest and not blank."""

from collections.abc import Callable, Sequence

BLOCKING = ("guardrail_intervened", "content_filtered")
_NOTES = {
    "step_limit": "I stopped here: this took as many steps as one question may take.",
    "deadline": "I stopped here: the time for one question ran out.",
    "token_limit": "I stopped here: this took as many tokens as one question may take.",
    "daily_token_limit": "I stopped here: your tokens of today are used up. They are counted anew from midnight UTC.",
    "max_tokens": "The answer was cut off: it reached the length limit of one answer.",
    "model_context_window_exceeded": "The answer was cut off: the conversation became too long for the model.",
    "malformed_model_output": "The model's answer was malformed and could not be used.",
    "malformed_tool_use": "The model's use of a tool was malformed and was not run.",
}
_NOT_RUN = "A tool that was asked for was not run."
_FALLBACKS = {
    "guardrail_intervened": "This request was blocked by a guardrail.",
    "content_filtered": "The answer was withheld by the model's content filter.",
}
_NOTHING = "The model gave no answer."
# Lambda answers at most 6 MB, and JSON within JSON writes some characters with up to seven bytes
_MAX_ANSWER_CHARS = 800_000


def ending(stop_reason: str, said: str, last_words: Callable[[], str], *, tools_left: bool, remark: str = "") -> str:
    """The answer of a turn that ended for this reason, ours or the model's. `said` is what the model said in its last reply.

    Where there is nothing else to say, the `last_words` are given. With `tools_left` a tool was asked for and not run; a
    `remark` is on what was said.
    """
    notes = [note for note in (_NOTES.get(stop_reason), said and remark, tools_left and _NOT_RUN) if note]
    if not said and not notes:
        said = _FALLBACKS.get(stop_reason) or last_words() or _NOTHING
    return joined(said, notes)


def joined(said: str, notes: Sequence[str]) -> str:
    """What was said, cut to what Lambda can answer, and behind it our notes."""
    cut = ["The rest of this answer was left out: it is too long to send."] if len(said) > _MAX_ANSWER_CHARS else []
    return "\n\n".join(part for part in (said[:_MAX_ANSWER_CHARS], " ".join([*notes, *cut])) if part)
