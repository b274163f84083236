"""Scripts: what an entry becomes, and what a wrong one is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local.bedrock.reply import ErrorReply, Reply, reasoning_block, text_reply
from local.bedrock.script import ScriptedModel, ScriptError, load_script


def played(entry: dict[str, Any]) -> Reply:
    return ScriptedModel([entry])("model", {})


USE = {"toolUse": {"toolUseId": "tooluse_1_1", "name": "sine", "input": {"x": 1}}}


@pytest.mark.parametrize(
    ("entry", "reply"),
    [
        ({"text": "hi"}, Reply([{"text": "hi"}])),
        ({"text": ""}, Reply([{"text": ""}])),
        ({"tool_use": {"name": "sine", "input": {"x": 1}}}, Reply([USE], "tool_use")),
        ({"text": "see", "tool_use": [{"name": "sine", "input": {"x": 1}}]}, Reply([{"text": "see"}, USE], "tool_use")),
        (
            {"tool_use": {"id": "a", "name": "x y", "input": "{"}, "stop_reason": "end_turn"},
            Reply([{"toolUse": {"toolUseId": "a", "name": "x y", "input": "{"}}], "end_turn"),
        ),
        ({"reasoning": "hm", "text": "hi"}, Reply([reasoning_block("hm"), {"text": "hi"}])),
        (
            {"content": [{"odd": 1}, 5], "stop_reason": "what", "usage": {"inputTokens": 1}, "latency_seconds": 2},
            Reply([{"odd": 1}, 5], "what", {"inputTokens": 1}, 2.0),  # type: ignore[list-item]
        ),
        ({"content": [USE]}, Reply([USE], "tool_use")),
        ({"error": "ThrottlingException"}, Reply([], error=ErrorReply("ThrottlingException", 429))),
        ({"error": "NewException"}, Reply([], error=ErrorReply("NewException", 400))),
        (
            {"error": "ModelErrorException", "status": 500, "message": "m", "in_stream": True, "text": "a"},
            Reply([{"text": "a"}], error=ErrorReply("ModelErrorException", 500, "m", True)),
        ),
        ({"drop": "before"}, Reply([], mischief="drop_before")),
        ({"drop": "middle", "text": "a"}, Reply([{"text": "a"}], mischief="drop_middle")),
        ({"silent": True}, Reply([], mischief="silent")),
        ({"garbage": True}, Reply([], mischief="garbage")),
    ],
    ids=str,
)
def test_an_entry_becomes_a_reply(entry: dict[str, Any], reply: Reply) -> None:
    assert played(entry) == reply


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("hi", 'Entry 2 must be an object with one of error, drop, silent, .*, not "hi"'),
        ({}, r"Entry 2 has the keys \[\], but needs one of error, drop"),
        ({"txt": "hi"}, r"Entry 2 has the keys \['txt'\], but needs one of"),
        ({"text": "hi", "colour": "red"}, "Entry 2 has colour, but one with text may have only .*stop_reason"),
        (
            {"content": [], "text": "hi"},
            "Entry 2 has text, but one with content may have only content, latency_seconds",
        ),
        ({"silent": True, "text": "hi"}, "Entry 2 has text, but one with silent may have only silent"),
        ({"text": 5}, "Entry 2 has a wrong text: it must be a string"),
        ({"content": {"text": "hi"}}, "Entry 2 has a wrong content: it must be a list"),
        ({"error": "X", "status": 200}, "Entry 2 has a wrong status: it must be an HTTP status from 400 to 599"),
        ({"text": "a", "latency_seconds": -1}, "Entry 2 has a wrong latency_seconds: it must be a number of seconds"),
        ({"drop": "after"}, 'Entry 2 has a wrong drop: it must be "before" or "middle"'),
        ({"tool_use": {"name": "sine"}}, 'Entry 2 has a wrong tool_use: it must be an object with "name" and "input"'),
        ({"tool_use": [5]}, "Entry 2 has a wrong tool_use"),
    ],
)
def test_a_wrong_entry_is_told_in_one_sentence(entry: Any, told: str) -> None:
    with pytest.raises(ScriptError, match=told) as raised:
        ScriptedModel([{"text": "fine"}, entry])
    assert "\n" not in str(raised.value)


def test_replies_are_played_in_order_and_the_end_is_an_error() -> None:
    model = ScriptedModel([{"text": "one"}, text_reply("two")])
    assert [model("m", {}).content, model("m", {}).content] == [[{"text": "one"}], [{"text": "two"}]]
    assert model.left == 0
    ended = model("m", {}).error
    assert ended == ErrorReply(
        "ValidationException", 400, "The script has ended: it has 2 entries, and this is request 3."
    )


def test_a_file_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps([{"text": "こんにちは"}]), encoding="utf-8")
    assert load_script(path)("m", {}) == text_reply("こんにちは")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (None, "can't be read: No such file"),
        (b"[,]", "is no JSON"),
        (b"\xff\xfe\xff", "is no JSON"),
        (b'{"text": "hi"}', "must be a JSON list of entries"),
        (b'["hi"]', "can't be played. Entry 1 must be an object"),
    ],
)
def test_a_file_that_is_no_script_is_told_with_its_path(tmp_path: Path, written: bytes | None, told: str) -> None:
    path = tmp_path / "script.json"
    if written is not None:
        path.write_bytes(written)
    with pytest.raises(ScriptError, match=told) as raised:
        load_script(path)
    assert str(path) in str(raised.value)
