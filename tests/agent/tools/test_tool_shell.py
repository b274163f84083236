"""The shell tool: what it runs, the bounds that end a command, and what is never run without a person's yes."""

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.deadline import Deadline
from agent.errors import ToolError
from agent.tooling.tool import ToolContext
from agent.tools.shell import run, run_bash, workspace

_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's limits and /proc")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace, with two files, a folder, a link that leads out of it and one that doesn't."""
    made = tmp_path / "workspace"
    (made / "src").mkdir(parents=True)
    (made / "a.py").write_text("print('a')\n")
    (made / "src" / "b.py").write_text("print('b')\n")
    (made / "-x").write_text("no option\n")
    (made / ".env").write_text("KEY=secret\n")
    (tmp_path / "outside.txt").write_text("outside\n")
    (made / "out").symlink_to(tmp_path / "outside.txt")
    (made / "in").symlink_to(made / "a.py")
    monkeypatch.setenv("AGENT_WORKSPACE", str(made))
    return made


def _run(command: str, ends: Deadline | None = None) -> dict[str, str | int]:
    ends = ends or Deadline.after(20)
    return run_bash(command, ToolContext("s", "", "t1", ends, logging.getLogger("tests")))


def _written(path: Path) -> Deadline:
    """A deadline that comes when something stands in the file."""
    return Deadline(10, lambda: 20.0 if path.exists() and path.read_text() else 0.0)


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env={"PATH": os.environ["PATH"]}, check=True, capture_output=True)


def _alive(number: int) -> bool:
    """Whether the process lives on: one that was killed may need a moment to be gone."""
    for _ in range(300):
        if _is_gone(number):
            return False
        time.sleep(0.01)
    return True


def _is_gone(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_a_file_is_created_run_and_listed(folder: Path) -> None:
    created = _run("cat > hello.py <<'END'\nprint('こんにちは')\nEND")
    assert created == {"exit_code": 0, "stdout": "", "stderr": ""}
    assert (folder / "hello.py").read_text(encoding="utf-8") == "print('こんにちは')\n"
    assert _run("ls *.py")["stdout"] == "a.py\nhello.py\n"


def test_an_exit_code_and_both_outputs_are_told() -> None:
    assert _run("echo out; echo err >&2; exit 3") == {"exit_code": 3, "stdout": "out\n", "stderr": "err\n"}


def test_a_command_that_begins_like_an_option_is_a_command() -> None:
    assert _run("-x")["exit_code"] == 127


def test_the_branch_of_the_workspace_is_told_without_asking(folder: Path) -> None:
    _git(folder, "init", "--initial-branch", "trunk")
    assert not run_bash.waits({"command": "git branch --show-current"})
    assert _run("git branch --show-current")["stdout"] == "trunk\n"


def test_a_repository_around_the_workspace_is_not_looked_into(folder: Path) -> None:
    _git(folder.parent, "init")
    assert _run("git status")["exit_code"] == 128


def test_no_credentials_and_nothing_else_of_ours_is_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("BASH_ENV", "/dev/null")
    names = {line.partition("=")[0] for line in str(_run("/usr/bin/env")["stdout"]).splitlines()}
    own = {name for name in names if not name.startswith("GIT_")}
    assert own == {"PATH", "HOME", "LANG", "AGENT_RUN", "PWD", "SHLVL", "_"}
    assert _run("echo $HOME; pwd")["stdout"] == f"{folder}\n{folder}\n"


def test_nothing_can_be_typed_in() -> None:
    assert _run("read answer; echo $?")["stdout"] == "1\n"


def test_a_command_that_takes_too_long_is_stopped_and_what_it_wrote_is_told(folder: Path) -> None:
    with pytest.raises(ToolError, match=r"its time was over(?s:.*)begun") as raised:
        _run("echo begun; echo $$ > pid; sleep 60", _written(folder / "pid"))
    assert "sleep" not in raised.value.message


@_LINUX
@pytest.mark.parametrize(
    "start",
    ["bash stay &", "(bash stay & true) &", "setsid bash stay &", "trap '' TERM HUP; bash stay &", "nohup bash stay &"],
)
def test_what_a_command_leaves_running_ends_with_it(start: str, folder: Path) -> None:
    (folder / "stay").write_text("echo $$ > pid\nexec sleep 60\n")
    _run(f"{start} until [ -s pid ]; do sleep 0.01; done")
    assert not _alive(int((folder / "pid").read_text()))


@_LINUX
def test_grandchildren_end_when_the_time_is_over(folder: Path) -> None:
    with pytest.raises(ToolError, match="its time was over"):
        _run("bash -c 'bash -c \"sleep 60 & echo \\$! > pid; wait\"; true'; true", _written(folder / "pid"))
    assert not _alive(int((folder / "pid").read_text()))


@_LINUX
def test_too_many_processes_are_stopped() -> None:
    with pytest.raises(ToolError, match="more than 64 processes"):
        _run("for i in $(seq 80); do sleep 60 & done; wait")


@_LINUX
def test_a_process_gets_no_more_than_its_memory() -> None:
    answer = _run(f"{sys.executable} -c 'x = bytearray(2 * 2**30)'")
    assert answer["exit_code"] == 1
    assert "MemoryError" in str(answer["stderr"])


def test_a_file_gets_no_larger_than_its_bound(folder: Path) -> None:
    assert _run("head -c 100000000 /dev/zero > big")["exit_code"] != 0
    assert (folder / "big").stat().st_size <= 32 * 2**20


def test_a_long_output_is_cut_and_an_endless_one_ends() -> None:
    assert "Cut: these are the first 8,000 of 20,000" in str(_run("head -c 20000 /dev/zero | tr '\\0' x")["stdout"])
    endless = _run("yes")
    assert endless["exit_code"] != 0
    assert len(str(endless["stdout"])) < 9000


def test_output_that_is_no_text_is_told_as_far_as_it_is() -> None:
    assert _run("printf 'a\\xffb'")["stdout"] == "a�b"


@pytest.mark.parametrize("command", ["echo \0", "echo \ud800", "echo " + "x" * 3_000_000])
def test_what_can_be_no_command_is_an_error(command: str) -> None:
    with pytest.raises(ToolError, match="can't be started"):
        _run(command)


def test_without_a_choice_the_workspace_is_a_folder_of_this_user_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("AGENT_WORKSPACE")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = workspace()
    assert made.parent == tmp_path
    assert made.stat().st_mode & 0o777 == 0o700
    assert workspace() == made


def test_a_workspace_that_someone_else_laid_out_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AGENT_WORKSPACE")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"agent-workspace-{os.getuid()}").symlink_to(tmp_path / "workspace")
    with pytest.raises(ToolError, match="not this user's own"):
        workspace()
    assert run_bash.waits({"command": "ls src"})


@pytest.mark.parametrize(
    "command",
    [
        "pwd",
        "ls",
        "ls -la src",
        "ls *.py",
        "ls src/*.py",
        "ls missing",
        "cat a.py",
        "cat -n ./a.py src/b.py",
        "cat in",
        "head -n 5 a.py",
        "head -5 a.py",
        "tail -c 3 a.py",
        "wc -l *.py",
    ],
)
def test_looking_at_the_workspace_needs_no_approval(command: str) -> None:
    assert not run_bash.waits({"command": command})
    assert _run(command)["exit_code"] == (2 if "missing" in command else 0)


@pytest.mark.parametrize(
    "command",
    [
        "",
        " ",
        "echo hello",
        "rm a.py",
        "touch hello.py",
        "python3 a.py",
        "bash a.py",
        "/bin/ls",
        "./a.py",
        "env",
        "find . -delete",
        "xargs rm",
        "sed -i s/a/b/ a.py",
        "curl example.com",
        # ways to run more than one command
        "ls; rm a.py",
        "ls && rm a.py",
        "ls || rm a.py",
        "ls & rm a.py",
        "ls | sh",
        "ls |& sh",
        "ls\nrm a.py",
        "ls\rrm a.py",
        "ls\trm",
        "cat $(rm a.py)",
        "cat `rm a.py`",
        "cat <(rm a.py)",
        "cat >(rm a.py)",
        "(ls)",
        "{ ls }",
        "! ls",
        "ls #",
        "ls() { rm a.py }",
        "X=1 ls",
        "PATH=. ls",
        # ways to write
        "ls > a.py",
        "ls >> a.py",
        "ls 2> a.py",
        "cat < a.py",
        "cat << END",
        # ways to say what is not seen
        "cat $HOME",
        "cat ${HOME}",
        "cat ~/a.py",
        "cat 'a.py'",
        'cat "a.py"',
        "cat a\\.py",
        "cat $'a.py'",
        "cat {a,b}.py",
        "cat [a-z].py",
        "cat ?.py",
        "cat */*",
        "cat **",
        "ls !$",
        "ｌｓ",
        "ls\u00a0src",
        "ls\0",
        # ways out of the workspace
        "cat /etc/passwd",
        "cat ../outside.txt",
        "cat src/../../outside.txt",
        "ls ..",
        "ls /",
        "cat out",
        "cat o*",
        "cat *",
        "ls -",
        # hidden files
        "cat .env",
        "cat .e*",
        "ls .git",
        "cat src/.x",
        # options that do more than look
        "tail -f a.py",
        "tail --follow a.py",
        "wc --files0-from=a.py",
        "ls --hyperlink",
        "cat -- -x",
        "head -n5x a.py",
    ],
)
def test_anything_else_needs_approval(command: str) -> None:
    assert run_bash.waits({"command": command})


_GIT_READING = ("git status", "git status --short", "git branch", "git branch -a", "git log --oneline -5", "git log")


def test_looking_at_a_plain_repository_needs_no_approval(folder: Path) -> None:
    assert run_bash.waits({"command": "git status"})
    _git(folder, "init")
    _git(folder, "config", "user.name", "Tanaka")
    _git(folder, "remote", "add", "origin", "https://example.com/x.git")
    assert [command for command in _GIT_READING if run_bash.waits({"command": command})] == []


@pytest.mark.parametrize(
    "command",
    [
        "git",
        "git commit -m x",
        "git push",
        "git branch new",
        "git branch -D main",
        "git status -uall",
        "git diff",
        "git show",
        "git log -p",
        "git log --output=a.py",
        "git -C .. status",
        "git -c core.pager=sh log",
        "git --exec-path=. status",
        "git  status",
        "git status; ls",
    ],
)
def test_any_other_use_of_git_needs_approval(folder: Path, command: str) -> None:
    _git(folder, "init")
    assert run_bash.waits({"command": command})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".git/config", "[core]\n\tfsmonitor = touch marker\n"),
        (".git/config", '[filter "x"]\n\tclean = touch marker\n'),
        (".git/config", "[log]\n\tshowSignature = true\n"),
        (".git/config", "[include]\n\tpath = x\n"),
        (".git/config", "[core] fsmonitor = touch marker\n"),
        (".git/config", "[core]\n\tbare = \\\n\tfalse\n"),
        (".git/config", "[extensions]\n\tworktreeConfig = true\n"),
        (".gitconfig", "[alias]\n\tstatus = !touch marker\n"),
        (".config/git/config", "[core]\n\tpager = touch marker\n"),
        (".gitmodules", '[submodule "x"]\n\tpath = x\n'),
        (".git/commondir", "../other\n"),
    ],
)
def test_a_repository_that_could_have_git_run_programs_needs_approval(folder: Path, name: str, text: str) -> None:
    _git(folder, "init")
    assert not run_bash.waits({"command": "git status"})
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    assert run_bash.waits({"command": "git status"})


def test_a_hook_of_the_repository_is_not_run_by_looking(folder: Path) -> None:
    _git(folder, "init")
    _git(folder, "add", "a.py")
    hook = folder / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch marker\n")
    hook.chmod(0o755)
    (folder / "a.py").touch()
    assert "a.py" in str(_run("git status")["stdout"])
    assert not (folder / "marker").exists()


def test_a_place_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="can't be started"):
        run("ls", tmp_path / "gone", Deadline.after(5))


def test_nothing_runs_where_the_agent_is_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "agent")
    with pytest.raises(ToolError, match="not run where the agent is deployed"):
        _run("touch made")
    assert not (workspace() / "made").exists()
