"""Bash in a folder of its own: no credentials in its environment, bounded in time, memory, output, processes and file size.

It is no sandbox: a command can reach what its user can, which is why a person is asked before all but plain looking
around. It is for a developer's own machine and refused where the agent is deployed.
"""

import contextlib
import os
import re
import secrets
import shlex
import signal
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import IO, Annotated

from agent.deadline import Deadline
from agent.errors import ToolError
from agent.tooling.tool import ToolContext, tool
from agent.tooling.tool_result import cut

_SECONDS = 30.0
_RESERVE = 0.5  # seconds of them, to kill and to answer before the call is given up
_TICK = 0.1  # seconds between two looks at the processes
_PROCESSES = 64
_MEMORY = 1024  # MiB, of one process (of its address space) and of all together (of what is resident)
_FILE = 32  # MiB, of one file, the output included
_SHOWN = 8_000  # characters of each output
_PATH = "/usr/local/bin:/usr/bin:/bin"  # fixed, since the caller's may lead into the workspace
# As bash's own limits and not in preexec_fn, which can lock up a process that has threads. macOS knows no -v.
_LIMITS = f"{{ ulimit -c 0; ulimit -f {_FILE * 1024}; ulimit -v {_MEMORY * 1024}; ulimit -t 60; }} 2>/dev/null"
_START = f'{_LIMITS}; exec /bin/bash --noprofile --norc -c -- "$1"'
_MARK = "AGENT_RUN"  # an environment variable by which processes are found that left their group
# What a repository's configuration may hold where git runs unasked: other keys can name programs for it to run.
_HARMLESS = re.compile(
    r"\[(core|init|user|remote|branch)( \"[^\"\\]*\")?\]"
    r"|(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|defaultbranch"
    r"|name|email|url|fetch|remote|merge) = [^\\]*"
)
# Only a repository in the workspace itself, no submodules, and no rewritten index, which would call a hook.
_GIT_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "safe.bareRepository",
    "GIT_CONFIG_VALUE_0": "explicit",
    "GIT_CONFIG_KEY_1": "diff.ignoreSubmodules",
    "GIT_CONFIG_VALUE_1": "all",
}
_READING = {
    "pwd": "",
    "ls": "-[aAlhtrSR1dF]+",
    "cat": "-[nbs]+",
    "head": "-[nc]?[0-9]*",
    "tail": "-[nc]?[0-9]*",
    "wc": "-[lwcm]+",
}
_GIT = re.compile(
    r"git (status( -s| --short)?|branch( -[av]| --list| --show-current)?|log( --oneline)?( -[0-9]{1,4})?|rev-parse HEAD)"
)


def needs_approval(command: str) -> bool:
    """Whether a person is asked first: unless the whole command is known to only look at the workspace."""
    # no quote, variable, redirection, separator, brace or line end gets any further
    if not re.fullmatch(r"[A-Za-z0-9_./* -]+", command) or command.count("*") > 1:
        return True
    name, *words = shlex.split(command) or [""]
    if name == "git":
        return not (_GIT.fullmatch(command) and _has_harmless_git(workspace()))
    if name not in _READING:
        return True
    options = [word for word in words if word.startswith("-")]
    paths = [word for word in words if not word.startswith("-")]
    known = all(re.fullmatch(_READING[name], option) for option in options)
    return not (known and all(_is_inside(path, workspace()) for path in paths))


@tool(needs_approval=needs_approval, timeout_seconds=_SECONDS)
def run_bash(
    command: Annotated[str, "the command, as bash -c takes it; files are relative to the workspace"],
    context: ToolContext,
) -> dict[str, str | int]:
    """Run a command with bash in the workspace folder, which is kept between commands, and return what it wrote.

    Nothing can be typed in while it runs, and what it leaves running is ended with it.
    """
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        raise ToolError("Commands are not run where the agent is deployed.")
    return run(command, workspace(), context.deadline.earlier(_RESERVE))


def workspace() -> Path:
    """The folder, made where it isn't there: AGENT_WORKSPACE, or one of this user's in the temporary folder."""
    chosen = os.environ.get("AGENT_WORKSPACE", "").strip()
    folder = Path(chosen) if chosen else Path(tempfile.gettempdir(), f"agent-workspace-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise ToolError("The workspace folder can't be made.") from error
    # anyone may make names in the temporary folder
    if not chosen and (not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid()):
        raise ToolError("The workspace folder is not this user's own.")
    return folder.resolve()


def run(command: str, folder: Path, deadline: Deadline) -> dict[str, str | int]:
    """Exit code and outputs of a command. Raises ToolError, with the outputs so far, where a bound ended it."""
    mark = secrets.token_hex(16)
    environment = {
        "PATH": _PATH,
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        _MARK: mark,
        **_GIT_ENVIRONMENT,
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
    }
    # files and not pipes: nothing to read along, and the limit on files bounds the output
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = _start(command, folder, environment, output, errors)
        try:
            broken = _watch(process, mark, deadline)
        finally:
            _kill(process, mark)
        told = {"stdout": _text(output), "stderr": _text(errors)}
    if broken:
        raise ToolError(f"The command was stopped: {broken}. Until then it wrote:\n{told['stdout']}\n{told['stderr']}")
    return {"exit_code": process.returncode, **told}


def _start(
    command: str, folder: Path, environment: dict[str, str], output: IO[bytes], errors: IO[bytes]
) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            ["/bin/bash", "--noprofile", "--norc", "-c", _START, "bash", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # no bash, no more processes, a NUL, a command longer than Linux takes
        raise ToolError("The command can't be started.") from error


def _watch(process: "subprocess.Popen[bytes]", mark: str, deadline: Deadline) -> str:
    """Waits for the end of the command; the bound that it broke, if any."""
    while deadline.left() > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(min(_TICK, max(deadline.left(), 0)))
            return ""
        sizes = _processes(process.pid, mark).values()
        if len(sizes) > _PROCESSES:
            return f"it ran more than {_PROCESSES} processes"
        if sum(sizes) > _MEMORY * 2**20:
            return f"it used more than {_MEMORY} MiB of memory"
    return "its time was over"


def _kill(process: "subprocess.Popen[bytes]", mark: str) -> None:
    """Ends the whole group, and in rounds what has left it, until none is found."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the latter on macOS, where none is left alive
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for _ in range(10):
        left = _processes(process.pid, mark)
        for number in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        if not left:
            return


def _processes(group: int, mark: str) -> dict[int, int]:
    """Process ids of the command and all that it started, with the bytes of memory that each holds. See proc(5)."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):  # nothing where there is no /proc: then the group alone is known
        with contextlib.suppress(OSError, IndexError):
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            is_ours = int(fields[2]) == group or f"{_MARK}={mark}".encode() in (folder / "environ").read_bytes()
            if is_ours and fields[0] not in "ZX":
                found[int(folder.name)] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return found


def _text(output: IO[bytes]) -> str:
    output.seek(0)
    return cut(output.read().decode(errors="replace"), _SHOWN)


def _is_inside(path: str, folder: Path) -> bool:
    """Whether a path, or each that it matches, lies in the folder and is not hidden, wherever links lead."""
    if path.startswith("/") or any(part.startswith(".") and part != "." for part in path.split("/")):
        return False
    matched = [each for each in folder.glob(path) if "*" in path] or [folder / path]
    if any(str(each.relative_to(folder)).startswith("-") for each in matched):  # bash would hand it on as an option
        return False
    return all(each.resolve().is_relative_to(folder) for each in matched)


def _has_harmless_git(folder: Path) -> bool:
    """Whether the workspace is a plain repository whose configuration can't have git run programs."""
    git = folder / ".git"
    if git.is_symlink() or any((folder / name).exists() for name in (".config/git", ".gitmodules", ".git/commondir")):
        return False
    configurations = [path for path in (git / "config", folder / ".gitconfig") if path.exists()]
    lines = [line.strip() for path in configurations for line in path.read_text(errors="replace").splitlines()]
    return git.is_dir() and all(not line or _HARMLESS.fullmatch(line) for line in lines)
