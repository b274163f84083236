"""The workflow for GitHub Actions: of the form that GitHub takes, and with commands that exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DEPLOY = ROOT / ".github" / "workflows" / "deploy.yml"


def test_every_workflow_is_of_githubs_form() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, *map(str, WORKFLOWS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_workflow_of_another_form_would_be_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(DEPLOY.read_text(encoding="utf-8").replace("runs-on:", "runs_on:"), encoding="utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(wrong)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_every_target_that_a_workflow_makes_exists() -> None:
    runs = [line for path in WORKFLOWS for line in re.findall(r"run: make (.*)", path.read_text(encoding="utf-8"))]
    made = {word for run in runs for word in run.partition("ARGS")[0].split()}
    targets = re.findall(r"^([a-z][a-z -]*):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert made >= {"lint", "test", "synth", "deploy"}
    assert made <= {name for line in targets for name in line.split()}


@pytest.mark.parametrize("job", ["check", "deploy"])
def test_a_job_has_no_more_rights_than_it_needs(job: str) -> None:
    workflow = yaml.safe_load(DEPLOY.read_text(encoding="utf-8"))
    rights = workflow["jobs"][job].get("permissions", workflow["permissions"])
    # Only what deploys may ask AWS for credentials, and that never for a pull request, whose code anybody may write.
    expected = {"contents": "read", "id-token": "write"} if job == "deploy" else {"contents": "read"}
    assert rights == expected
    assert workflow["jobs"]["deploy"]["if"] == "github.event_name != 'pull_request'"
    assert workflow["jobs"]["deploy"]["needs"] == "check"
