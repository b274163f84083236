"""python -m local, as it is typed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from local.__main__ import main
from tests.agent.edge.gateway_events import http_api

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command", [[], ["demo"], ["ask"], ["chat"], ["serve"], ["event"], ["sessions"], ["replay"], ["export"], ["load"]]
)
def test_every_command_has_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: python -m local {' '.join(command)}".rstrip())


def test_it_runs_as_a_module() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "local", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("usage: python -m local")


@pytest.mark.parametrize("setting", ["HISTORY_PAIRS", "HISTORY-PAIRS=3", "=3"])
def test_a_wrong_setting_is_refused_with_an_example(setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["chat", "--set", setting])
    assert "must be NAME=VALUE, such as HISTORY_PAIRS=3" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["ask", "hello"], ["chat"], ["serve"], ["demo"], ["replay", "s"]])
def test_an_unknown_setting_is_refused_with_the_nearest_known_one(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--set", "MAXSTEPS=3"]) == 2
    assert capsys.readouterr().err == f"{command[0]}: There is no setting MAXSTEPS: MAX_STEPS is the nearest.\n"


@pytest.mark.parametrize("name", ["max_steps", "MAX_STEPS"])
def test_a_setting_goes_by_its_key_or_its_variable(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"tool_use": {"name": "x", "input": {}}}]')
    assert main(["ask", "hello", "--script", str(script), "--json", "--set", f"{name}=1"]) == 0
    assert json.loads(capsys.readouterr().out)["stop_reason"] == "step_limit"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--url", "http://127.0.0.1:1"], "http://127.0.0.1:1 can't be asked: "),
        (["--url", "127.0.0.1:8000"], "--url must begin with http:// or https://"),
        (["--url", "http://x", "--keep", "--set", "MAX_STEPS=1"], "--set and --keep can't go with --url"),
        (["--caller", "bob"], "--caller needs --url"),
    ],
)
def test_what_cannot_be_asked_elsewhere_is_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", "hello", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, told in err) == ("", True)


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_a_wrong_port_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["serve", f"--port={port}"])
    assert "must be a number from 0 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "told"), [(None, "can't be read: No such file or directory"), ("{", "is no JSON"), ("\xff", "is no JSON")]
)
def test_an_event_that_cannot_be_read_is_told_in_a_sentence(
    text: str | None, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "event.json"
    if text is not None:
        file.write_bytes(text.encode("latin-1"))
    assert main(["event", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"event: The event {file} {told}")


def test_ask_prints_the_answer_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "私の名前はTaroです。"]) == 0
    out, err = capsys.readouterr()
    assert "Taro" in out
    assert "{" not in out
    assert "no language model" in err


def test_ask_goes_on_with_a_kept_session(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    kept = ["--session", "s", "--keep", str(tmp_path / "kept.json")]
    assert main(["ask", "私の名前はTaroです。", *kept]) == 0
    assert main(["ask", "私の名前を覚えていますか？", *kept, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))
    assert "Taro" in answer["answer"]
    assert answer["turn"] == 2


def test_a_bad_setting_fails_and_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "hello", "--set", "HISTORY_PAIRS=many"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "HISTORY_PAIRS is 'many'" in err


def test_an_http_event_runs_as_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "health.json"
    file.write_text(json.dumps(http_api("GET", "/health")))
    assert main(["event", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["statusCode"] == 200


def test_a_refused_event_fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "event.json"
    file.write_text('{"nonsense": 1}')
    assert main(["event", str(file)]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "invalid_request"
