"""python -m local with an OpenAI-compatible endpoint: what the function is told of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from local.__main__ import main
from local.problem import ProblemError
from local.stack import Choices, local_stack

HANDLER = """
import os

def lambda_handler(event, context):
    return {name: value for name, value in os.environ.items() if name.startswith(("MODEL_", "OPENAI_", "AWS_"))}
"""
URL = "http://127.0.0.1:11434/v1"


@pytest.fixture
def choices(tmp_path: Path) -> Choices:
    (tmp_path / "handler.py").write_text(HANDLER)
    return Choices(root=tmp_path)


def test_the_function_is_told_where_to_ask_for_which_model(choices: Choices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-key")
    monkeypatch.setenv("OPENAI_API_KEY_SECRET", "of/production")
    monkeypatch.setenv("AWS_PROFILE", "bogus")
    with local_stack(replace(choices, model_url=URL, model_id="qwen3:8b")) as stack:
        environment, _ = stack.function.invoke({})
        assert f"qwen3:8b answers, at {URL}." in stack.banner
    asked = {name: value for name, value in environment.items() if not name.startswith("AWS_")}
    assert asked == {
        "MODEL_PROVIDER": "openai",
        "MODEL_ID": "qwen3:8b",
        "OPENAI_BASE_URL": URL,
        "OPENAI_API_KEY": "sk-key",
    }
    assert "AWS_PROFILE" not in environment


def test_without_an_endpoint_the_model_is_bedrocks_whatever_is_exported(
    choices: Choices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_PROVIDER", "openai")
    with local_stack(choices) as stack:
        assert stack.function.invoke({})[0]["MODEL_PROVIDER"] == "bedrock"
    with local_stack(replace(choices, aws=True, model_id="a.model")) as stack:
        assert stack.function.invoke({})[0]["MODEL_PROVIDER"] == "bedrock"


@pytest.mark.parametrize("url", [URL, ""])
def test_an_endpoint_needs_a_model(choices: Choices, url: str) -> None:
    with pytest.raises(ProblemError, match="--model-url needs --model"), local_stack(replace(choices, model_url=url)):
        pass


def test_a_key_in_the_address_is_not_printed(choices: Choices) -> None:
    url = "https://me:secret@models.example/v1?key=secret"
    with local_stack(replace(choices, model_url=url, model_id="a")) as stack:
        assert stack.banner.startswith("a answers, at https://models.example/v1. ")
        assert stack.function.invoke({})[0]["OPENAI_BASE_URL"] == url


def test_the_command_line_takes_one_model_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "hello", "--model-url", URL]) == 2
    assert "--model-url needs --model" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["ask", "hello", "--model-url", URL, "--aws"])
    assert "not allowed with argument" in capsys.readouterr().err
