"""Tool uses that wait for a person, in chat and ask."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from local.__main__ import main
from local.approving import _decision
from local.screen import Screen

pytestmark = pytest.mark.slow


class Terminal(io.StringIO):
    """Someone who types at a terminal."""

    def isatty(self) -> bool:
        return True


def refund(tool_use_id: str, reason: str = "It broke.", order: str = "A-1001") -> dict[str, Any]:
    return {"name": "refund_order", "input": {"order_id": order, "amount": 1, "reason": reason}, "id": tool_use_id}


@pytest.fixture
def keep(tmp_path: Path) -> list[str]:
    return ["--session", "s", "--keep", str(tmp_path / "kept.json"), "--set", "TOOLS=tickets"]


class Shell:
    """Runs a command over a script of the model, with what is typed; each is a process of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._script = folder / "script.json"
        self._patch = patch
        self._capsys = capsys

    def run(self, *arguments: str, replies: list[Any], typed: io.StringIO | None = None) -> tuple[int, str, str]:
        self._script.write_text(json.dumps(replies))
        self._patch.setattr(sys, "stdin", typed or io.StringIO())
        code = main([*arguments, "--script", str(self._script)])
        return code, *self._capsys.readouterr()


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, monkeypatch, capsys)


def ids(printed: str) -> list[str]:
    """The approval ids of what waits."""
    return re.findall(r"\b([0-9a-f]{32}), until 20", printed)


def test_chat_shows_tool_and_input_asks_and_goes_on(shell: Shell, keep: list[str]) -> None:
    replies = [{"tool_use": refund("r1")}, {"text": "Paid back."}]
    code, out, _ = shell.run("chat", *keep, replies=replies, typed=Terminal("pay\ny\n"))
    assert code == 0
    asked = out.index('waits     refund_order  {"order_id": "A-1001", "amount": 1, "reason": "It broke."}')
    assert asked < out.index("approve? ") < out.index("refund_order  success") < out.index("Paid back.")


def test_chat_asks_for_each_and_again_while_something_waits(shell: Shell, keep: list[str]) -> None:
    replies = [
        {"tool_use": [refund("r1"), refund("r2", order="A-1002")]},
        {"tool_use": refund("r3", "More.")},
        {"text": "That is all."},
    ]
    code, out, _ = shell.run("chat", *keep, replies=replies, typed=Terminal("pay\nyes\nno\nn too dear\n"))
    assert (code, out.count("approve? ")) == (0, 3)
    assert (out.count("refund_order  success"), out.count("refund_order  error")) == (1, 2)
    assert "That is all." in out
    kept = Path(keep[3]).read_text(encoding="utf-8")
    assert "Denied by a person. too dear" in kept


@pytest.mark.parametrize("typed", ["", "Y E S", "yep", "yes but", "1"])
def test_only_a_plain_yes_is_a_yes(typed: str) -> None:
    lines, told = iter([typed, "n"]), io.StringIO()
    assert _decision(Screen(told), lambda prompt: next(lines)) == {"approved": False, "reason": ""}
    assert told.getvalue() == "Type y to let it run, n and why not to, or /quit to leave it waiting.\n"


@pytest.mark.parametrize("typed", ["/quit", "exit", "/EXIT", "quit"])
def test_a_chat_can_be_left_at_the_question_for_an_approval(typed: str) -> None:
    with pytest.raises(EOFError):
        _decision(Screen(io.StringIO()), lambda prompt: typed)


def test_leaving_instead_of_an_answer_approves_nothing_and_it_waits_on(shell: Shell, keep: list[str]) -> None:
    code, out, _ = shell.run("chat", *keep, replies=[{"tool_use": refund("r1")}], typed=Terminal("pay\n"))
    assert (code, "refund_order  success" in out) == (0, False)
    code, out, _ = shell.run("chat", *keep, replies=[{"text": "Paid back."}], typed=Terminal("y\n"))
    assert out.index("waits     refund_order") < out.index("refund_order  success") < out.index("Paid back.")


def test_nothing_is_approved_where_nobody_types(shell: Shell, keep: list[str]) -> None:
    replies = [{"tool_use": refund("r1")}, {"text": "Then not."}]
    code, out, _ = shell.run("chat", *keep, replies=replies, typed=io.StringIO("pay\ny\n"))
    assert code == 0
    assert "Nobody can be asked here, so nothing is approved." in out
    assert "approve? " not in out
    assert "refund_order  success" not in out


def test_signs_that_would_hide_what_is_approved_are_shown_as_codes(shell: Shell, keep: list[str]) -> None:
    reason = "\u202eoops \x9b2J\x1b[8m 理由"
    _, out, _ = shell.run("chat", *keep, replies=[{"tool_use": refund("r1", reason)}], typed=Terminal("pay\n"))
    assert r'"reason": "\u202eoops \u009b2J\u001b[8m 理由"' in out
    assert not {"\u202e", "\x9b", "\x1b"} & set(out)


def test_an_approval_that_fails_is_told_and_the_chat_goes_on(shell: Shell, keep: list[str]) -> None:
    replies = [{"tool_use": refund("r1")}, {"error": "ValidationException"}, {"text": "Hello."}]
    code, out, _ = shell.run("chat", *keep, replies=replies, typed=Terminal("pay\ny\nhello\n"))
    assert code == 0
    assert out.index("failed    ModelError") < out.index("Hello.")


def test_what_was_run_before_a_failure_is_not_asked_for_again(shell: Shell, keep: list[str]) -> None:
    replies = [{"tool_use": refund("r1")}, {"error": "ValidationException"}]
    _, out, _ = shell.run("chat", *keep, replies=replies, typed=Terminal("pay\ny\n"))
    assert "refund_order  success" in out
    _, out, _ = shell.run("chat", *keep, replies=[], typed=Terminal("y\n"))
    assert "waits" not in out


def test_ask_tells_what_waits_and_a_later_run_approves_it(shell: Shell, keep: list[str]) -> None:
    code, out, err = shell.run("ask", "pay", *keep, replies=[{"tool_use": refund("r1")}])
    assert (code, out) == (0, "This needs your approval: refund_order.\n")
    assert "waits     refund_order  {" in err
    (asked,) = ids(err)
    assert "--session s --approve ID" in err
    code, out, err = shell.run("ask", "--approve", asked, *keep, replies=[{"text": "Paid back."}])
    assert (code, out, "refund_order  success" in err) == (0, "Paid back.\n", True)


def test_ask_denies_with_a_reason(shell: Shell, keep: list[str]) -> None:
    uses = {"tool_use": [refund("r1"), refund("r2", order="A-1002")]}
    first, second = ids(shell.run("ask", "pay", *keep, replies=[uses])[2])
    code, out, err = shell.run("ask", "--deny", f"{first}=a=b", *keep, replies=[])
    assert (code, ids(err)) == (0, [second])
    code, out, _ = shell.run("ask", "--deny", second, *keep, "--json", replies=[{"text": "Then not."}])
    assert json.loads(out)["answer"] == "Then not."
    assert "Denied by a person. a=b" in Path(keep[3]).read_text(encoding="utf-8")


def test_ask_says_where_nothing_can_be_approved_later(shell: Shell) -> None:
    _, _, err = shell.run("ask", "pay", "--set", "TOOLS=tickets", replies=[{"tool_use": refund("r1")}])
    assert "The session ends here, so this can't be approved." in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "Either a question or decisions"),
        (["pay", "--session", "s", "--approve", "r1"], "Either a question or decisions"),
        (["--approve", "r1"], "need --session"),
    ],
)
def test_a_question_or_decisions_are_asked_for(shell: Shell, arguments: list[str], told: str) -> None:
    code, out, err = shell.run("ask", *arguments, replies=[])
    assert (code, out, told in err) == (2, "", True)


def test_an_approval_of_what_does_not_wait_fails(shell: Shell, keep: list[str]) -> None:
    shell.run("ask", "pay", *keep, replies=[{"tool_use": refund("r1")}])
    code, _, err = shell.run("ask", "--approve", "other", *keep, replies=[])
    assert (code, "other does not wait for approval" in err) == (1, True)
