"""Stored turns as a script."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.adapters.dynamodb.items import to_item
from agent.messages import Message, assistant_text, tool_result, user_text
from agent.ports import DONE, StoredTurn
from local.bedrock.script import ScriptedModel
from local.export import script
from local.recordings import recordings
from local.stack import Choices, Stack, local_stack
from local.trajectory import trajectory

pytestmark = pytest.mark.slow

SINE = {"name": "sine", "input": {"x": 0}}
SCRIPTS: list[list[dict[str, Any]]] = [
    [{"text": "Hello."}],
    [{"tool_use": SINE}, {"text": "It is 0."}],
    [{"text": "Let me see.", "tool_use": [SINE, SINE | {"id": "mine"}]}, {"tool_use": SINE}, {"text": "It is 0."}],
    [{"reasoning": "A sine? Easy.", "tool_use": SINE}, {"reasoning": "Hm.", "text": "It is 0."}],
    [{"content": [{"text": "One."}, {"text": "Two."}]}],
    [{"text": "I may not say.", "stop_reason": "guardrail_intervened"}],
]


def ask(stack: Stack, question: str) -> dict[str, Any]:
    answer, succeeded = stack.function.invoke({"question": question, "session_id": "s"})
    assert succeeded
    return dict(answer)


@pytest.mark.parametrize("entries", SCRIPTS)
def test_a_turn_that_is_played_from_its_export_is_the_same_turn(entries: list[dict[str, Any]], tmp_path: Path) -> None:
    file, played = tmp_path / "script.json", []
    for _ in range(2):
        file.write_text(json.dumps(entries))
        with local_stack(Choices(script=file)) as stack:
            answer = ask(stack, "?")
            (recording,) = recordings(stack.sessions.items("s"))
        played.append((answer["answer"], answer["stop_reason"], trajectory(recording.rest), recording.rest))
        entries = script([recording])
    assert played[0] == played[1]
    assert played[0][2] or len(entries) == 1


def test_the_turns_of_a_session_follow_each_other(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    entries = [{"tool_use": SINE | {"id": "a"}}, {"text": "It is 0."}, {"text": "Bye."}]
    file.write_text(json.dumps(entries))
    with local_stack(Choices(script=file)) as stack:
        ask(stack, "?")
        ask(stack, "Thanks.")
        exported = script(recordings(stack.sessions.items("s")))
    assert exported == [{"tool_use": [SINE | {"id": "a"}]}, *entries[1:]]


def test_a_cut_answer_is_exported_as_it_was_given() -> None:
    """It has our sentence already, which the stop reason would add once more."""
    answer = "It is\n\nThe answer was cut off: it reached the length limit of one answer."
    turn = _stored(assistant_text(answer), answer=answer, stop_reason="max_tokens")
    assert script(recordings([to_item(turn)])) == [{"text": answer}]


def test_redacted_reasoning_is_exported_as_base64() -> None:
    use = {"toolUse": {"toolUseId": "t", "name": "sine", "input": {}}}
    message: Message = {
        "role": "assistant",
        "content": [{"reasoningContent": {"redactedContent": b"\x00\xff"}}, use],
    }
    results: Message = {"role": "user", "content": [tool_result("t", "0", "success")]}
    exported = script(recordings([to_item(_stored(message, results, assistant_text("0"), answer="0"))]))
    assert exported[0] == {"content": [{"reasoningContent": {"redactedContent": "AP8="}}, use]}
    ScriptedModel(exported)


def _stored(*messages: Message, answer: str, stop_reason: str = "end_turn") -> StoredTurn:
    response = {"answer": answer, "stop_reason": stop_reason}
    return StoredTurn(
        key="s", turn=1, status=DONE, question="?", messages=[user_text("?"), *messages], response=response
    )
