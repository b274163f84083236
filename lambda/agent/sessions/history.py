"""Which turns the model sees: the last N completed ones, whole, repaired, without the reasoning of older turns."""

import json
from collections.abc import Sequence

from agent.messages import Block, Message
from agent.ports import StoredTurn
from agent.sessions.approvals import OVERTAKEN
from agent.sessions.states import CLOSED, STATES, is_expired, state_of
from agent.turn.repair import INTERRUPTED, repair

CONTEXT = "context_tokens"  # in a stored usage: of the turn's last model call, its answer included
_TOKENS_PER_CHARACTER = 0.5  # where no turn tells: more than English takes, less than Japanese


def completed(turns: Sequence[StoredTurn], pairs: int, now: float) -> list[StoredTurn]:
    """The newest `pairs` completed turns that have not expired at `now` (epoch seconds), newest first."""
    return [turn for turn in turns if state_of(turn, now).is_pair][:pairs]


def surplus(
    others: Sequence[StoredTurn], completed: Sequence[StoredTurn], newest: int, pairs: int, now: float
) -> list[int]:
    """The numbers of turns beside the newest one that are kept no longer, newest first."""
    beside = pairs - 1
    oldest_kept = newest if beside < 1 else completed[beside - 1].turn if len(completed) >= beside else 0
    return [turn.turn for turn in others if turn.turn < oldest_kept or is_expired(turn, now)]


def fitted(history: Sequence[list[Message]], tokens: int, tokens_per_character: float) -> list[list[Message]]:
    """The history, oldest turn first, made to cost at most so many tokens.

    Results of tools that older turns have used are taken out first, then the oldest turns go.
    """
    turns = [list(turn) for turn in history]
    costs = [_cost(turn, tokens_per_character) for turn in turns]
    for number, turn in enumerate(turns):
        if sum(costs) <= tokens:
            return turns
        turns[number] = [_without_results(message) for message in turn]
        costs[number] = _cost(turns[number], tokens_per_character)
    first = 0
    while first < len(turns) and sum(costs[first:]) > tokens:
        first += 1
    return turns[first:]


def within(
    history: Sequence[list[Message]], tokens: int, completed: Sequence[StoredTurn], beside: Sequence[object]
) -> list[list[Message]]:
    """The history made to cost at most so many tokens, by what the newest turn cost with all that was sent `beside` it."""
    sent = sum(map(characters, (*beside, *history)))
    cost = next((turn.usage.get(CONTEXT, 0) for turn in completed), 0)
    return fitted(history, tokens, cost / sent if cost > 0 else _TOKENS_PER_CHARACTER)


def characters(value: object) -> int:
    """How long a value is as JSON, which is what a model's tokens are made of."""
    return len(json.dumps(value, ensure_ascii=False, default=str))


def _cost(turn: list[Message], tokens_per_character: float) -> float:
    return characters(turn) * tokens_per_character


def _without_results(message: Message) -> Message:
    content: list[Block] = []
    for block in message["content"]:
        if "toolResult" in block:
            block = {"toolResult": {**block["toolResult"], "content": [{"text": _TAKEN_OUT}]}}
        content.append(block)
    return {"role": message["role"], "content": content}


_TAKEN_OUT = "(This result was taken out of the history to save tokens.)"


def model_history(turns: Sequence[StoredTurn], seen: set[str]) -> list[list[Message]]:
    """The messages of completed turns, oldest turn first, one list a turn. `seen` gets their tool use ids.

    A turn that a guardrail stopped is left out, since its question would stop every later turn, and one without messages.
    """
    history: list[list[Message]] = []
    for turn in reversed(turns):
        unanswered = OVERTAKEN if turn.status == CLOSED else INTERRUPTED
        messages = repair(turn.messages, seen, unanswered=unanswered) if STATES[turn.status].is_sent else []
        if messages:
            history.append(messages)
    return history
