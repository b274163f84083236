"""Signs that would act on a terminal, in everything that is printed."""

import io
import json
import sys
import unicodedata
from pathlib import Path
from typing import TextIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.screen import Screen
from local.session_table import Row
from local.terminal import VisibleStream, exact_json, visible, visible_output

CLIPBOARD = "\x1b]52;c;cm0K\x07"
EVIL = f"ok{CLIPBOARD}\x1b[2J\x9b1m \u202egnp.exe\u2069 a\u200bb\ufeff\r\x7f"
SHOWN = r"ok\u001b]52;c;cm0K\u0007\u001b[2J\u009b1m \u202egnp.exe\u2069 a\u200bb\ufeff\r\u007f"


def test_whatever_acts_hides_or_turns_around_is_written_as_its_code() -> None:
    assert visible(EVIL) == SHOWN


def test_no_control_or_format_character_stays_but_tab_line_feed_and_visible_number_signs() -> None:
    # all planes but those of rare letters, which are letters, and of private use but for its first ones
    numbers = (*range(0x20000), *range(0xE0000, 0xF0010))
    signs = [chr(number) for number in numbers if chr(number) not in "\n|"]
    shown = visible("|".join(signs)).split("|")
    left = {sign for sign, told in zip(signs, shown, strict=True) if told == sign} | {"\n"}
    kinds = {sign: unicodedata.category(sign) for sign in left}
    assert {sign for sign, kind in kinds.items() if kind in ("Cc", "Zl", "Zp", "Cs", "Co")} == {"\t", "\n"}
    # what is left of the format characters shows something: signs before Arabic and Kaithi numbers, hieroglyphs' joiners
    names = {unicodedata.name(sign, "").split()[0] for sign, kind in kinds.items() if kind == "Cf"}
    assert names == {"ARABIC", "SYRIAC", "KAITHI", "EGYPTIAN"}
    assert not left & {"\u3164", "\u115f", "\uffa0", "\u2800", "\ufe0f", "\U000e0100", "\U000e0041", "\u00ad"}


def test_ordinary_texts_stay_as_they_are() -> None:
    text = "東京\u3000大阪\tnaïve \u00a0€ 👨\u200d👩\u200d👧 ❤\ufe0f שלום\n"
    assert visible(text) == text
    assert visible("a\r\nb") == "a\nb"


def test_a_joiner_outside_of_an_emoji_is_shown() -> None:
    assert visible("pay\u200dpal \u200d a\ufe0f") == r"pay\u200dpal \u200d a\ufe0f"


@given(st.text())
def test_json_stays_the_same_json(text: str) -> None:
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text
    assert json.loads(exact_json(text)) == text


def test_a_call_to_be_decided_on_shows_even_the_blanks_of_other_scripts() -> None:
    assert exact_json({"to": "a\u3000b\u00a0c\ufe0f"}) == r'{"to": "a\u3000b\u00a0c\ufe0f"}'


def test_standard_output_and_error_are_visible_within_the_context(capsys: pytest.CaptureFixture[str]) -> None:
    with visible_output():
        print(EVIL)
        sys.stderr.writelines([EVIL])
        assert sys.stdout.isatty() is False
    print("\x1b[0m")
    assert capsys.readouterr() == (f"{SHOWN}\n\x1b[0m\n", SHOWN)


def test_a_screen_makes_visible_whatever_it_prints_and_keeps_its_colours() -> None:
    file = io.StringIO()
    file.isatty = lambda: True  # type: ignore[method-assign]
    screen = Screen(cast(TextIO, VisibleStream(file)))
    screen.line(EVIL, "red")
    screen.heading(EVIL)
    screen.labelled("answer", EVIL)
    screen.failure({"errorType": EVIL, "errorMessage": EVIL})
    screen.waits({"tool": EVIL, "input": {EVIL: EVIL}, "tool_use_id": EVIL, "approval_id": EVIL, "expires_at": EVIL})
    screen.sessions([Row(EVIL, 1, EVIL, EVIL, 1, EVIL, 1)])
    printed = file.getvalue()
    assert printed.count(SHOWN) >= 8
    assert not {"\x9b", "\u202e", "\u200b", "\x07", "\r", "\x7f"} & set(printed)
    assert "\x1b]" not in printed
    assert "\x1b[2J" not in printed


@pytest.mark.slow
@pytest.mark.parametrize("command", [["ask", "hi"], ["ask", "hi", "--json"], ["event", "EVENT"], ["chat"]])
def test_no_command_lets_a_model_act_on_the_terminal(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from local.__main__ import main

    (tmp_path / "script.json").write_text(json.dumps([{"text": EVIL}]))
    (tmp_path / "event.json").write_text('{"question": "hi"}')
    monkeypatch.setattr(sys, "stdin", io.StringIO("hi\n"))
    words = [str(tmp_path / "event.json") if word == "EVENT" else word for word in command]
    assert main([*words, "--script", str(tmp_path / "script.json"), "--logs"]) == 0
    out, err = capsys.readouterr()
    assert SHOWN[:40] in out
    assert not {"\x1b", "\x9b", "\u202e", "\u200b", "\x07", "\r", "\x7f"} & set(out + err)
