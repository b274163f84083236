"""Compiled files (.pyc) for the bundle: they save more than half of a cold start, and need a Python of its version."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Where Lambda lays the bundle: the file names in tracebacks.
TASK_ROOT = "/var/task"


class BundleError(Exception):
    """The bundle can't be made; the message says which wheel or module is at fault, and why."""


@dataclass(frozen=True)
class Compiler:
    """A Python that compiles for the function: where it is, and its full version."""

    executable: str
    version: str


def find_compiler(python: str) -> Compiler | None:
    """A Python of the version `python` (as "3.13"): this one, one on the PATH, or one that pyenv or uv installed."""
    for executable in _candidates(python):
        # A shim may be on the PATH with nothing behind it, so each is asked.
        version = _full_version(executable)
        if version and version.startswith(f"{python}."):
            return Compiler(executable, version)
    return None


def compile_tree(compiler: Compiler, folder: Path) -> None:
    """Compiles all modules below the folder, to the same bytes each time. Raises BundleError."""
    root = str(folder.resolve())
    # Unchecked: nothing on Lambda changes a source after the bundle was made, and no time stamp goes in.
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", root, "-p", TASK_ROOT]
    # Isolated, so that no module of this folder or of the environment shadows the library's.
    command = [compiler.executable, "-I", "-m", "compileall", *options, root]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise BundleError(f"Python {compiler.version} can't compile the bundle: {(done.stdout + done.stderr).strip()}")


def _candidates(python: str) -> Iterator[str]:
    yield sys.executable
    if on_path := shutil.which(f"python{python}"):
        yield on_path
    for pattern in (f".pyenv/versions/{python}.*/bin/python", f".local/share/uv/python/cpython-{python}.*/bin/python"):
        yield from sorted(map(str, Path.home().glob(pattern)))


def _full_version(executable: str) -> str | None:
    code = "import platform; print(platform.python_implementation(), platform.python_version())"
    try:
        done = subprocess.run([executable, "-I", "-c", code], capture_output=True, text=True, check=False, timeout=30)
    except OSError:
        return None
    implementation, _, version = done.stdout.strip().partition(" ")
    return version if implementation == "CPython" else None
