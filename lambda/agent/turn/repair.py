"""The repair of stored messages: whatever was stored, and whoever edited it, what comes out keeps the rules of Converse.

The user begins, roles take turns, each tool use is answered once in the next message and alone there, no text is blank, ids
are unique.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from agent.messages import (
    NO_ANSWER,
    TOOL_NAME,
    Block,
    Message,
    assistant_text,
    clean_json,
    clean_text,
    has_tool_results,
    tool_result,
    unique_id,
)

INTERRUPTED = (
    "Interrupted: the outcome of this call is unknown. It was not run again; do so only if the user asks for it."
)


def repair(
    messages: object,
    seen: set[str],
    *,
    closed: bool = True,
    answered: bool = True,
    reasoning: bool = False,
    unanswered: str = INTERRUPTED,
) -> list[Message]:
    """Stored messages of one turn, made valid; [] where no question can be found in them. Reasoning is dropped.

    `seen` holds the tool use ids of the conversation so far and gets this turn's. A tool use without its result is answered
    with the text `unanswered`, save for those of the last message without `answered`. With `closed` the last message is the
    assistant's. `reasoning` is kept only for a turn that goes on.
    """
    out: list[Message] = []
    pending: list[tuple[object, str]] = []  # the ids of the last message's tool uses, as stored and as sent
    for message, blocks in _readable(messages):
        role = message.get("role")
        texts: list[Block] = [{"text": clean_text(b["text"])} for b in blocks if _is_text(b)]
        if role == "user":
            if pending:
                out.append(_answers(pending, blocks, unanswered))
                pending = []
            _add_user_texts(out, texts)
        elif role == "assistant" and out:
            if pending:
                out.append(_answers(pending, [], unanswered))
            uses, pending = _uses(blocks, seen)
            if reasoning and uses:  # in the order in which it came
                thoughts_and_texts = [b for b in blocks if _is_text(b) or "reasoningContent" in b]
                _add_assistant_blocks(out, [*thoughts_and_texts, *uses])
                _keep_author(out[-1], message)
            else:
                _add_assistant_blocks(out, [*texts, *uses])
    if pending and answered:
        out.append(_answers(pending, [], unanswered))
    if closed and out and out[-1]["role"] == "user":
        out.append(assistant_text(NO_ANSWER))
    return out


def _readable(messages: object) -> Iterator[tuple[dict[str, Any], list[Block]]]:
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, dict) and isinstance(message.get("content"), list):
            yield message, [block for block in message["content"] if isinstance(block, dict)]


def _keep_author(out: Message, stored: dict[str, Any]) -> None:
    """Who wrote a message, and what its server sent beside it, as far as that can be read."""
    if isinstance(stored.get("model"), str):
        out["model"] = stored["model"]
    match stored.get("beside"):
        case {"message": dict(), "calls": dict(calls)} if all(
            isinstance(call, dict) and isinstance(call.get("function", {}), dict) for call in calls.values()
        ):
            out["beside"] = stored["beside"]


def _is_text(block: Block) -> bool:
    return isinstance(block.get("text"), str) and bool(block["text"].strip())


def _add_user_texts(out: list[Message], texts: Sequence[Block]) -> None:
    if not texts:
        return
    if out and out[-1]["role"] == "user":
        if not has_tool_results(out[-1]):
            out[-1] = {"role": "user", "content": [*out[-1]["content"], *texts]}
            return
        out.append(assistant_text(NO_ANSWER))
    out.append({"role": "user", "content": list(texts)})


def _add_assistant_blocks(out: list[Message], blocks: Sequence[Block]) -> None:
    if not blocks:
        return
    if out[-1]["role"] == "assistant":
        out[-1] = {"role": "assistant", "content": [*out[-1]["content"], *blocks]}
    else:
        out.append({"role": "assistant", "content": list(blocks)})


def _uses(blocks: Sequence[Block], seen: set[str]) -> tuple[list[Block], list[tuple[object, str]]]:
    uses: list[Block] = []
    pending: list[tuple[object, str]] = []
    for block in blocks:
        use = block.get("toolUse")
        if not isinstance(use, dict) or not isinstance(use.get("name"), str) or not TOOL_NAME.fullmatch(use["name"]):
            continue
        try:
            value = clean_json(use.get("input"))
        except ValueError:
            value = None
        name = unique_id(use.get("toolUseId"), seen)
        pending.append((use.get("toolUseId"), name))
        uses.append(
            {"toolUse": {"toolUseId": name, "name": use["name"], "input": value if isinstance(value, dict) else {}}}
        )
    return uses, pending


def _answers(pending: Sequence[tuple[object, str]], blocks: Sequence[Block], unanswered: str) -> Message:
    results = [b["toolResult"] for b in blocks if isinstance(b.get("toolResult"), dict)]
    content: list[Block] = []
    for stored, sent in pending:
        found = next((r for r in results if r.get("toolUseId") == stored), None)
        if found is None:
            content.append(tool_result(sent, unanswered))
            continue
        results.remove(found)  # two uses with one id have two results, in order
        status = found.get("status") if found.get("status") in ("success", "error") else "success"
        content.append({"toolResult": {"toolUseId": sent, "content": _result_content(found), "status": status}})
    return {"role": "user", "content": content}


def _result_content(result: Block) -> list[Block]:
    content: list[Block] = []
    for block in result["content"] if isinstance(result.get("content"), list) else []:
        if not isinstance(block, dict):
            continue
        if isinstance(block.get("text"), str) and block["text"].strip():
            content.append({"text": clean_text(block["text"])})
        elif isinstance(block.get("json"), dict):
            try:
                content.append({"json": clean_json(block["json"])})
            except ValueError:
                continue
    return content or [{"text": "(This result was not kept.)"}]
