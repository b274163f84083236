"""The rehearsal of a deploy: whole, and its parts that decide whether something differs."""

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from infra.cdk import ROOT
from local.deploy.readback import Check, Template, left_over
from local.deploy.rehearsal import Rehearsal
from local.deploy.traffic import Api, send_events, send_requests
from local.screen import Screen

ROUTES = {
    "POST /chat": "AWS_IAM",
    "GET /sessions/{session_id}": "AWS_IAM",
    "DELETE /sessions/{session_id}": "AWS_IAM",
    "GET /health": "NONE",
}


def rehearse(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "local.deploy", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
def test_a_deploy_works_from_synth_to_destroy_stays_up_while_it_is_held_and_leaves_nothing() -> None:
    command = [sys.executable, "-u", "-m", "local.deploy", "--hold"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        lines: list[str] = []
        try:
            for line in process.stdout:
                lines.append(line)
                if line.startswith("  curl "):
                    _use_what_is_held("".join(lines))
                    process.terminate()
        finally:
            process.kill()
        out, err = "".join(lines), process.stderr.read() if process.stderr else ""
    assert process.wait() == 0, out + err
    assert "differs" not in out
    events = [f"event {path.stem}" for path in sorted((ROOT / "events").glob("*.json"))]
    for name in ("table: time to live", "API: routes", "a direct question", *events, "POST /chat", "left over"):
        assert f"ok        {name}" in out
    told_once = "Installing the CDK command line into infra/cli/node_modules"  # in a fresh clone
    assert err.strip() in ("", told_once)


def _use_what_is_held(out: str) -> None:
    """Ask what was deployed at the addresses that were printed."""
    command = next(line for line in out.splitlines() if line.startswith("  curl "))
    found = re.search(r"AWS_ENDPOINT_URL_LAMBDA=(\S+), function (\S+)", out)
    assert found
    client = boto3.client("lambda", endpoint_url=found[1])
    answer = json.load(client.invoke(FunctionName=found[2], Payload='{"question": "Hello."}')["Payload"])
    client.close()
    assert answer["stop_reason"] == "end_turn"
    if shutil.which("curl"):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True, timeout=30)
        assert json.loads(done.stdout)["answer"] == answer["answer"]


@pytest.mark.slow
def test_a_wrong_choice_ends_it_with_what_the_cdk_said() -> None:
    done = rehearse("-c", "memory_mb=1")
    assert done.returncode == 1
    assert "deploy-local: cdk synth ended with 1:" in done.stderr
    assert "memory_mb is '1', but must be a whole number from 256 to 10240" in done.stderr


def test_one_thing_that_differs_makes_the_exit_code_1_and_is_named() -> None:
    for found, code in ((7, 0), (8, 1)):
        output = io.StringIO()
        rehearsal = Rehearsal(Screen(output))
        rehearsal._note([Check("days", 7, found)])
        assert rehearsal._summary(1.0) == code
        assert ("days: 8 instead of 7" in output.getvalue()) == bool(code)


def test_a_template_is_read_by_type(tmp_path: Path) -> None:
    resources = {"A": {"Type": "AWS::SQS::Queue", "Properties": {"x": 1}}, "B": {"Type": "AWS::SNS::Topic"}}
    path = tmp_path / "stack.template.json"
    path.write_text(json.dumps({"Resources": resources}))
    template = Template.read(path)
    assert template.one("SQS::Queue") == {"x": 1}
    assert template.all("SNS::Topic") == [{}]


ANSWERS: dict[str, dict[str, Any]] = {
    "list_tables": {"TableNames": ["sessions"]},
    "list_functions": {"Functions": [{"FunctionName": "agent"}]},
    "get_apis": {"Items": [{"ApiId": "a1"}]},
    "list_queues": {"QueueUrls": ["http://queue"]},
    "describe_log_groups": {"logGroups": [{"logGroupName": "logs"}]},
    "describe_alarms": {"MetricAlarms": [{"AlarmName": "slow"}]},
    "list_dashboards": {"DashboardEntries": [{"DashboardName": "board"}]},
    "list_roles": {"Roles": [{"RoleName": "role"}]},
    "describe_stacks": {"Stacks": [{"StackName": "agent"}]},
}


class FakeCloud:
    """Holds one thing of each kind; for any service it is its own client."""

    def client(self, service: str) -> "FakeCloud":
        assert service
        return self

    def __getattr__(self, operation: str) -> Callable[[], dict[str, Any]]:
        return lambda: ANSWERS[operation]


def test_whatever_a_destroy_leaves_is_found_and_named() -> None:
    found = left_over(FakeCloud())
    assert len(found) == len(ANSWERS)
    assert {"table sessions", "queue http://queue", "role role", "stack agent"} <= set(found)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"error": {"code": "internal", "message": "broken"}}, "internal: broken"),
        ({"answer": "0.84", "saved": False}, "answered, but not saved"),
    ],
)
def test_an_event_that_is_refused_or_not_saved_is_told_with_its_reason(result: dict[str, object], told: str) -> None:
    checks = list(send_events(lambda _event: (result, True)))
    assert len(checks) == 1 + len(list((ROOT / "events").glob("*.json")))
    assert {check.found for check in checks} == {told}
    assert not any(check.holds for check in checks)


def test_the_users_own_events_are_sent_and_without_any_a_question_of_the_rehearsal(tmp_path: Path) -> None:
    sent: list[Any] = []

    def invoke(event: Any) -> tuple[Any, bool]:
        sent.append(event)
        return {"answer": "Yes."}, True

    names = [check.name for check in send_events(invoke, tmp_path)]
    assert (names, sent[0]["question"]) == (["a direct question"], "Hello.")
    (tmp_path / "refund.json").write_text('{"question": "Refund A-1."}')
    assert [check.name for check in send_events(invoke, tmp_path)] == ["a direct question", "event refund"]
    assert sent[-1] == {"question": "Refund A-1."}


def test_a_closed_route_refuses_the_unsigned_and_tells_the_function_who_signed() -> None:
    callers: list[str] = []

    def invoke(event: dict[str, object]) -> tuple[dict[str, object], bool]:
        context = event["requestContext"]
        assert isinstance(context, dict)
        callers.append(str(context.get("authorizer", {}).get("iam", {}).get("userArn")))
        return {"statusCode": 200, "body": "{}"}, True

    checks = list(send_requests(invoke, Api(ROUTES, "us-east-1", None, 5)))
    found = {check.name: check.found for check in checks}
    assert (found["GET /health, unsigned"], found["POST /chat, unsigned"], found["POST /chat"]) == (200, 401, 200)
    assert found["GET /nowhere"] == 404
    assert callers[0] == "None"
    assert set(callers[1:]) == {"arn:aws:iam::123456789012:user/rehearsal"}
