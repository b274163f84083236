"""`make audit`: of all that is locked, and honest where it could not ask."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOWHERE = "http://127.0.0.1:9"  # the discard port, where nothing listens


def test_an_audit_is_of_the_lock_that_holds_all_the_others() -> None:
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\naudit:")[2].partition("\n\n")[0]
    script = ROOT / "requirements" / "audit.sh"
    text = recipe + (script.read_text(encoding="utf-8") if script.is_file() else "")
    assert "requirements/dev.lock" in text  # tests/test_requirements.py: it holds the runtime's in the same versions
    assert "--strict" in text


def test_an_audit_that_could_not_ask_says_so_in_a_sentence() -> None:
    command = ["make", "audit", "DEV=", f"PY={sys.executable}"]  # without setting up: what runs this test is set up
    proxies = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"), NOWHERE)
    environment = {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"} | proxies
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    told = done.stdout + done.stderr
    assert done.returncode != 0
    assert "can't be reached" in told
    assert "Traceback" not in told
    assert "No known vulnerabilities" not in told
