"""The engine's tests stand on fixtures of their own: they pass whatever the user's folders hold."""

import subprocess
import sys
from pathlib import Path

import pytest

from local.new import make_new

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
# Those that run the function of lambda/ as it stands, or read the documents; all others have an agent of the tests' own.
TOUCHING = (
    "tests/agent/edge/test_edge_cold_start.py",
    "tests/local/test_approving.py",
    "tests/local/test_command_line.py",
    "tests/local/test_demo.py",
    "tests/local/test_stored.py",
    "tests/local/test_testing.py",
    "tests/local/test_trajectory.py",
    "tests/security/test_security_text.py",
    "tests/test_readme.py",
)
NAMES = ("refund_order", "calculate", "run_bash", "search_web", "sine", "cosine", "make_card", "echo", "post_letter")
TOOLS = "from agent.tooling.tool import tool\n\n" + "".join(
    f'\n@tool\ndef {name}() -> str:\n    """Do it."""\n    return "of the user\'s"\n\n' for name in NAMES
)


@pytest.mark.parametrize("tools", ["", TOOLS], ids=["emptied", "with tools of such names"])
def test_the_engines_tests_pass_whatever_the_users_folder_holds(tmp_path: Path, tools: str) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    make_new(clone)
    own = clone / "lambda" / "my_agent"
    for path in own.rglob("*"):
        if path.is_file():
            path.unlink()
    if tools:
        (own / "tools" / "orders.py").write_text(tools)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *TOUCHING]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout[-3000:]
