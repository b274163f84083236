"""The stack around a function: its environment, and what is mocked and what is not."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from agent.aws.client import AWS
from agent.aws.errors import ServiceError
from agent.deadline import Deadline
from local.problem import ProblemError
from local.stack import Choices, local_stack


def test_a_function_runs_on_the_sessions_of_the_stack(choices: Choices) -> None:
    with local_stack(choices) as stack:
        result, succeeded = stack.function.invoke({"question": "hello", "session_id": "s"})
        assert (result["answer"], succeeded) == ("You said: hello", True)
        assert [(row.session_id, row.turn) for row in stack.sessions.rows()] == [("s", 1)]


def test_settings_reach_the_function_and_the_environment_is_given_back(choices: Choices) -> None:
    before = dict(os.environ)
    with local_stack(replace(choices, settings={"HISTORY_PAIRS": "7"})) as stack:
        assert stack.function.invoke({"question": "?"})[0]["pairs"] == "7"
    assert dict(os.environ) == before


def test_nothing_of_the_developers_aws_settings_is_left_offline(
    choices: Choices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "bogus")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with local_stack(choices) as stack:
        assert {"AWS_PROFILE", "AWS_ENDPOINT_URL"}.isdisjoint(os.environ)
        assert stack.function.invoke({"question": "hello"})[1]
        model = boto3.client("bedrock-runtime")
        question = [{"role": "user", "content": [{"text": "My name is Taro."}]}]
        answer: Any = model.converse(modelId=os.environ["MODEL_ID"], messages=question)  # type: ignore[arg-type]
        model.close()
    assert "Taro" in answer["output"]["message"]["content"][0]["text"]


def test_every_service_that_the_function_calls_is_on_this_machine_offline(choices: Choices) -> None:
    with local_stack(choices):
        for service in ("BEDROCK_RUNTIME", "DYNAMODB", "SECRETS_MANAGER", "SNS"):
            assert os.environ[f"AWS_ENDPOINT_URL_{service}"].startswith("http://127.0.0.1:")
        secrets = AWS(os.environ).client("secretsmanager")
        with pytest.raises(ServiceError, match="ResourceNotFoundException"):
            secrets.call("GetSecretValue", {"SecretId": "orders/key"}, Deadline.after(10))


def test_a_script_answers_in_place_of_the_offline_model(choices: Choices, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"text": "from the script"}]')
    with local_stack(replace(choices, script=script)) as stack:
        model = boto3.client("bedrock-runtime")
        question = [{"role": "user", "content": [{"text": "?"}]}]
        answer: Any = model.converse(modelId=os.environ["MODEL_ID"], messages=question)  # type: ignore[arg-type]
        model.close()
    assert answer["output"]["message"]["content"] == [{"text": "from the script"}]
    assert str(script) in stack.banner


def test_a_script_that_cannot_be_read_is_told(choices: Choices, tmp_path: Path) -> None:
    with (
        pytest.raises(ProblemError, match=r"no\.json can't be read"),
        local_stack(replace(choices, script=tmp_path / "no.json")),
    ):
        pass


def test_sessions_are_kept_between_runs_if_asked(choices: Choices, tmp_path: Path) -> None:
    kept = replace(choices, keep=tmp_path / "kept.json")
    for turn in (1, 2):
        with local_stack(kept) as stack:
            assert stack.function.invoke({"question": "hello", "session_id": "s"})[0]["turn"] == turn
            stack.save()


def test_with_aws_only_dynamodb_is_mocked(choices: Choices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCOUNT_ID", "123456789012")
    reached: list[str] = []

    def aws(request: Any, **_: Any) -> AWSResponse:
        reached.append(request.url)
        return AWSResponse(request.url, 404, HTTPHeaders(), None)

    with local_stack(replace(choices, aws=True, model_id="a.model")) as stack:
        for service in ("bedrock-runtime", "sts"):
            client: Any = boto3.client(service)
            client.meta.events.register("before-send", aws)
            with pytest.raises(Exception):  # noqa: B017, PT011 - the answer doesn't matter
                client.converse(modelId="a.model") if service == "bedrock-runtime" else client.get_caller_identity()
            client.close()
        assert stack.function.invoke({"question": "hello", "session_id": "s"})[1]
        assert len(stack.sessions.rows()) == 1
        assert "AWS_ENDPOINT_URL_SECRETS_MANAGER" not in os.environ
    assert [url.split("/")[2].split(".")[0] for url in reached] == ["bedrock-runtime", "sts"]
    assert "a.model on Amazon Bedrock in us-east-1" in stack.banner


def test_with_aws_missing_credentials_are_told_at_once(choices: Choices, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    with pytest.raises(ProblemError, match="credentials"), local_stack(replace(choices, aws=True)):
        pass


def test_with_aws_a_missing_region_is_told_at_once(choices: Choices, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name)
    with pytest.raises(ProblemError, match="region"), local_stack(replace(choices, aws=True)):
        pass
