"""Lambda's runtime client, driven by the Runtime API stand-in."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from local.deploy.runtime import LambdaRuntime

pytestmark = pytest.mark.slow

HANDLER = """
import os, sys, time

def answer(event, context):
    print("a line of the log")
    return {"event": event, "table": os.environ["TABLE_NAME"], "name": context.function_name,
            "left": context.get_remaining_time_in_millis(), "arn": context.invoked_function_arn}

def fail(event, context):
    raise ValueError("no such thing")

def die_once(event, context):
    if event == "die":
        os._exit(3)
    return os.getpid()

def hang(event, context):
    if event == "hang":
        time.sleep(600)
    return "in time"
"""


@contextmanager
def runtime(folder: Path, function: str, timeout_seconds: float = 30) -> Iterator[LambdaRuntime]:
    (folder / "module.py").write_text(HANDLER)
    environment = {"TABLE_NAME": "sessions"}
    with LambdaRuntime(
        folder, f"module.{function}", environment, timeout_seconds=timeout_seconds, name="agent"
    ) as started:
        yield started


def test_a_result_comes_back_and_the_function_has_environment_context_and_log(tmp_path: Path) -> None:
    with runtime(tmp_path, "answer") as function:
        result, succeeded = function.invoke({"question": "こんにちは"})
    assert succeeded
    assert result["event"] == {"question": "こんにちは"}
    assert (result["table"], result["name"]) == ("sessions", "agent")
    assert result["arn"].endswith(":function:agent")
    assert 0 < result["left"] <= 30_000
    assert any("a line of the log" in line for line in function.logs)


def test_what_the_handler_raises_comes_back_as_lambdas_error_object(tmp_path: Path) -> None:
    with runtime(tmp_path, "fail") as function:
        error, succeeded = function.invoke({})
    assert not succeeded
    assert (error["errorType"], error["errorMessage"]) == ("ValueError", "no such thing")


def test_an_sdk_is_there_as_lambdas_runtime_has_one(tmp_path: Path) -> None:
    (tmp_path / "using.py").write_text("import boto3\ndef handler(event, context): return boto3.__name__\n")
    with LambdaRuntime(tmp_path, "using.handler", {}, timeout_seconds=30, name="agent") as function:
        assert function.invoke({}) == ("boto3", True)


@pytest.mark.parametrize("package", ["moto", "msgspec", "pytest"])
def test_a_package_that_the_bundle_lacks_is_not_found_although_it_is_installed_here(
    tmp_path: Path, package: str
) -> None:
    (tmp_path / "lacking.py").write_text(f"import {package}\ndef handler(event, context): return 1\n")
    with LambdaRuntime(tmp_path, "lacking.handler", {}, timeout_seconds=30, name="agent") as function:
        error, succeeded = function.invoke({})
    assert not succeeded
    assert error["errorType"] == "Runtime.ImportModuleError"
    assert package in error["errorMessage"]


def test_a_crash_fails_its_invocation_and_the_next_has_a_new_process(tmp_path: Path) -> None:
    with runtime(tmp_path, "die_once") as function:
        first, _ = function.invoke("live")
        error, succeeded = function.invoke("die")
        assert (succeeded, error["errorType"]) == (False, "Runtime.ExitError")
        second, succeeded = function.invoke("live")
    assert succeeded
    assert first != second


def test_a_time_out_ends_the_process_and_the_next_has_another(tmp_path: Path) -> None:
    with runtime(tmp_path, "hang", timeout_seconds=3) as function:
        error, succeeded = function.invoke("hang")
        assert (succeeded, error["errorType"]) == (False, "Sandbox.Timedout")
        assert function.invoke("answer") == ("in time", True)
