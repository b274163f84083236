"""python -m local replay and export, as they are typed."""

import json
import re
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.__main__ import main
from local.session_table import SessionTable

pytestmark = pytest.mark.slow

SCRIPT = [
    {"tool_use": {"name": "ticket_status", "input": {"ticket_id": "T-1001"}}},
    {
        "tool_use": {
            "name": "refund_order",
            "input": {"order_id": "A-1001", "amount": 1, "reason": "It broke."},
            "id": "r",
        }
    },
    {"text": "It is done."},
]
DESK = ["--set", "TOOLS=tickets"]


@pytest.fixture
def kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The options for a session `s` of one turn, a refund that was approved."""
    script, keep = tmp_path / "script.json", ["--keep", str(tmp_path / "kept.json")]
    script.write_text(json.dumps(SCRIPT))
    assert main(["ask", "Pay it back.", "--session", "s", "--script", str(script), *keep, *DESK]) == 0
    script.write_text(json.dumps(SCRIPT[2:]))
    first = capsys.readouterr()
    (asked,) = re.findall(r"\b[0-9a-f]{32}\b", first.err)
    assert main(["ask", "--approve", asked, "--session", "s", "--script", str(script), *keep, *DESK]) == 0
    assert (first.out, capsys.readouterr().out) == ("This needs your approval: refund_order.\n", "It is done.\n")
    return keep


def edited(kept: list[str], before: str, after: str) -> None:
    file = Path(kept[1])
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")


def test_a_turn_that_does_the_same_again_exits_with_0(kept: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "s", *kept, *DESK]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[1:] == [
        "Turn 1 of s",
        "  question  Pay it back.",
        '  same      ticket_status  {"ticket_id": "T-1001"}',
        '  same      refund_order  {"order_id": "A-1001", "amount": 1, "reason": "It broke."}',
        "            not run, it has side effects: its recorded result was used",
        "  same      answer: It is done.",
        "",
        "1 turn was run again: nothing differs.",
    ]


def test_what_differs_is_shown_and_exits_with_1(kept: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    edited(kept, "Headphones arrived broken", "Headphones arrived late")
    assert main(["replay", "s", "1", *kept, *DESK]) == 1
    shown = capsys.readouterr().out
    assert '  differs   ticket_status  {"ticket_id": "T-1001"}\n            recorded  success  {' in shown
    assert shown.index("arrived late") < shown.index("            today     success") < shown.index("arrived broken")
    assert shown.endswith("1 turn was run again: something differs.\n")


def test_what_differs_can_be_had_as_json(kept: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "s", *kept, "--set", "TOOLS=", "--json"]) == 1
    (turn,) = json.loads(capsys.readouterr().out)
    assert (turn["turn"], turn["differs"], turn["answer"]["today"]) == (1, True, "It is done.")
    assert [step["today"]["status"] for step in turn["steps"]] == ["error", "error"]


def test_another_end_is_shown_with_both_answers(kept: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "s", *kept, *DESK, "--set", "MAX_STEPS=2"]) == 1
    shown = capsys.readouterr().out
    assert "recorded  end_turn  It is done." in shown
    assert "today     step_limit  " in shown
    assert "today     not asked for" in shown


def test_a_replay_leaves_the_kept_sessions_as_they_are(kept: list[str]) -> None:
    before = Path(kept[1]).read_bytes()
    main(["replay", "s", *kept, *DESK, "--run-side-effects"])
    main(["export", "s", *kept])
    assert Path(kept[1]).read_bytes() == before


def test_a_session_that_came_over_http_is_found_by_its_own_id(
    kept: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    edited(kept, '"S": "s"', '"S": "anonymous#s"')
    assert main(["replay", "s", *kept, *DESK]) == 0
    assert "Turn 1 of anonymous#s" in capsys.readouterr().out


def test_an_export_is_a_script(kept: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "exported.json"
    assert main(["export", "s", "1", *kept, "--output", str(file)]) == 0
    out, err = capsys.readouterr()
    assert (out, "Pay it back." in err) == ("", True)
    assert main(["export", "s", *kept]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(file.read_text(encoding="utf-8"))
    assert main(["ask", "Pay it back.", "--script", str(file), *DESK]) == 0
    assert capsys.readouterr().out == "This needs your approval: refund_order.\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["replay", "nobody"], "Nothing is kept of the session nobody in "),
        (["replay", "s", "7"], "There is no such turn to run again; of this session these are: 1."),
        (["replay", "s", "--set", "TOOLS=none_such"], "TOOLS names none_such"),
        (["export", "nobody"], "Nothing is kept of the session nobody in "),
        (["export", "s", "--output", "/no/such/folder/x"], "can't be written: No such file or directory."),
        (["export", "s", "--aws"], "--aws and --table NAME go together"),
        (["replay", "s", "--table", "t"], "--aws and --table NAME go together"),
        (["replay", "s", "--aws", "--table", "t"], "not from both"),
    ],
)
def test_what_cannot_be_done_is_told_and_exits_with_2(
    kept: list[str], capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert main([*arguments, *kept]) == 2
    assert told in capsys.readouterr().err


def test_turns_of_the_real_table_are_read_with_the_callers_credentials(
    kept: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with mock_aws():
        client: Any = boto3.client("dynamodb")
        SessionTable(client, "real").load(Path(kept[1]))
        assert main(["replay", "s", "--aws", "--table", "real", *DESK]) == 0
        assert "nothing differs" in capsys.readouterr().out
        assert main(["export", "s", "--aws", "--table", "real"]) == 0
        assert json.loads(capsys.readouterr().out)[-1] == {"text": "It is done."}
        assert main(["export", "s", "--aws", "--table", "none"]) == 2
        assert "The table none can't be read" in capsys.readouterr().err
