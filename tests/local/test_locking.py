"""One process at a time keeps its sessions in a file."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from local.locking import held
from local.problem import ProblemError
from local.stack import Choices, local_stack

ROOT = Path(__file__).parents[2]


def test_a_file_that_is_held_is_refused_and_free_again_afterwards(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    for _ in range(2):
        with (
            held(file),
            pytest.raises(ProblemError, match=r"kept\.json is in use by process [0-9]+, which keeps"),
            held(file),
        ):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    code = "import os, signal\nfrom pathlib import Path\nfrom local.locking import held\n"
    code += f"with held(Path({str(tmp_path / 'kept.json')!r})):\n    os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=30)
    assert (tmp_path / "kept.json.lock").exists()
    with held(tmp_path / "kept.json"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_second_function_on_the_same_sessions_is_refused_but_looking_is_not(choices: Choices, tmp_path: Path) -> None:
    kept = replace(choices, keep=tmp_path / "kept.json")
    with local_stack(kept) as stack:
        stack.invoke({"question": "hello", "session_id": "s"})
        with pytest.raises(ProblemError, match="is in use by process"), local_stack(kept):
            pass
    with held(tmp_path / "kept.json"), local_stack(replace(kept, read_only=True)) as looking:
        assert [row.session_id for row in looking.sessions.rows()] == ["s"]
        assert looking.keep is None


def test_a_place_where_nothing_can_be_kept_is_told_before_anything_runs(choices: Choices, tmp_path: Path) -> None:
    kept = replace(choices, keep=tmp_path / "no" / "kept.json")
    with (
        pytest.raises(ProblemError, match=r"can't be kept in .*kept\.json: No such file or directory"),
        local_stack(kept),
    ):
        pass
