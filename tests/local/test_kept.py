"""python -m local sessions, as it is typed."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from agent.adapters.dynamodb.items import to_item
from agent.messages import Message, assistant_text, user_text
from agent.ports import DONE, StoredTurn
from local.__main__ import main
from local.session_table import SessionTable

HASH = "a25d80be90b35d950c00858b223882d1"


def turn(key: str, number: int, question: str, created: str) -> dict[str, Any]:
    use = {"toolUse": {"toolUseId": "t", "name": "sine", "input": {"x": 1}}}
    messages: list[Message] = [
        user_text(question),
        {"role": "assistant", "content": [use]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t", "content": [{"text": "0.84"}], "status": "success"}}],
        },
        assistant_text(f"Answer to {question}"),
    ]
    response = {"answer": f"Answer to {question}", "stop_reason": "end_turn"}
    stored = StoredTurn(key, number, DONE, "r", question, messages, response, created_at=created, expires_at=1900000000)
    return dict(to_item(stored))


@pytest.fixture
def keep(tmp_path: Path) -> Path:
    items = [
        turn("desk", 2, "second", "2026-11-02T00:00:00Z"),
        turn("desk", 1, "first", "2026-11-01T00:00:00Z"),
        turn(f"{HASH}#desk", 1, "a caller's", "2026-11-03T00:00:00Z"),
        turn("anonymous#web", 1, "over HTTP", "2026-10-01T00:00:00Z"),
        {"session_id": {"S": f"#tokens#{HASH}"}, "turn": {"N": "20261101"}, "tokens": {"N": "9"}},
    ]
    file = tmp_path / "kept.json"
    file.write_text(json.dumps({"sessions": items}))
    return file


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["sessions", *map(str, arguments)])
    return code, *capsys.readouterr()


def test_all_sessions_are_listed_the_newest_first(keep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--keep", keep) == (
        0,
        f"{HASH}#desk\n            1 turn, the last 2026-11-03 00:00:00 done: a caller's\n"
        "desk\n            2 turns, the last 2026-11-02 00:00:00 done: second\n"
        "anonymous#web\n            1 turn, the last 2026-10-01 00:00:00 done: over HTTP\n",
        "",
    )


def test_one_id_shows_the_direct_session_and_those_of_callers(keep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "desk", "--keep", keep)
    assert code == 0
    headings = [line for line in out.splitlines() if line.startswith("Turn")]
    assert headings == ["Turn 1 of desk", "Turn 2 of desk", f"Turn 1 of {HASH}#desk"]
    assert '  question  first\n  tool      sine  success  {"x": 1}\n  answer    Answer to first\n' in out


@pytest.mark.parametrize(("session", "shown"), [(f"{HASH}#desk", "a caller's"), ("web", "over HTTP")])
def test_a_callers_session_goes_by_key_or_id(
    keep: Path, capsys: pytest.CaptureFixture[str], session: str, shown: str
) -> None:
    code, out, _ = run(capsys, session, "--keep", keep)
    assert (code, out.count("Turn "), shown in out) == (0, 1, True)


@pytest.mark.parametrize("command", ["sessions", "replay", "export"])
def test_where_nothing_is_kept_it_is_told_what_is(keep: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "dsk", "--keep", str(keep)]) == 2
    told = f"{command}: Nothing is kept of the session dsk in {keep}. Kept is: {HASH}#desk, desk, anonymous#web.\n"
    assert capsys.readouterr().err == told


def test_a_turn_of_several_callers_is_run_again_by_its_key_alone(
    keep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep.write_text(keep.read_text().replace('"desk"', '"anonymous#desk"'))
    assert main(["export", "desk", "--keep", str(keep)]) == 2
    assert f"Several callers have a session desk: name one of {HASH}#desk, anonymous#desk." in capsys.readouterr().err
    assert main(["export", f"{HASH}#desk", "--keep", str(keep)]) == 0


def test_an_empty_place_has_nothing_to_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--keep", tmp_path / "none.json") == (0, f"Nothing is kept in {tmp_path / 'none.json'}.\n", "")


def test_one_session_of_the_real_table_is_shown_by_its_id(keep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with mock_aws():
        SessionTable(boto3.client("dynamodb"), "real").load(keep)
        table = ("--aws", "--table", "real")
        assert run(capsys, "web", *table)[1].startswith("\nTurn 1 of anonymous#web\n")
        assert run(capsys, f"{HASH}#desk", *table)[1].startswith(f"\nTurn 1 of {HASH}#desk\n")
        assert "Nothing is kept of the session none in the table real." in run(capsys, "none", *table)[2]
        assert "Of a real table one session is shown" in run(capsys, *table)[2]
        assert "The table other can't be read" in run(capsys, "web", "--aws", "--table", "other")[2]
