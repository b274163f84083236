"""The user's folder: its prompt, a mistake in it, and that the function is told by it and by nothing else."""

import json
import os
from pathlib import Path
from unittest import mock

import pytest

from agent.edge.function import Function
from agent.errors import MisconfiguredError
from handler import start
from tests.agent.edge.gateway_events import http_api
from tests.agent.edge.whole_function import Whole, least_environment, unique
from tests.fakes import CLAUDE, LLAMA

PROMPT = "You are a clerk.\n"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder of a name of its own, with a prompt and no tools."""
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / unique("own").replace("-", "_")
    folder.mkdir()
    (folder / "system_prompt.md").write_text(PROMPT)
    return folder


def function_of(whole: Whole, own: Path, **environment: str) -> Function:
    with mock.patch.dict(os.environ, AWS_ENDPOINT_URL_BEDROCK_RUNTIME=whole.server.url):
        return start(least_environment(POWERTOOLS_SERVICE_NAME=unique("own"), **environment), own)


def system_sent(whole: Whole, function: Function) -> object:
    """The system prompt of the request that a question makes."""
    _, error = function.answer({"question": "hi", "session_id": unique()}, None)
    assert error is None
    return whole.requests[-1].body.get("system")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_the_prompt_is_what_the_file_says(whole: Whole, own: Path, encoding: str) -> None:
    (own / "system_prompt.md").write_text(PROMPT, encoding=encoding)
    assert system_sent(whole, function_of(whole, own)) == [{"text": PROMPT}]


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_without_a_prompt_there_is_none_and_the_log_says_so_once(
    whole: Whole, own: Path, text: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / "system_prompt.md").unlink()
    if text is not None:
        (own / "system_prompt.md").write_text(text)
    function = function_of(whole, own)
    assert [system_sent(whole, function) for _ in range(2)] == [None, None]
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = [line for line in lines if "no system prompt" in str(line.get("message"))]
    assert [(line["level"], line["message"]) for line in told] == [
        ("WARNING", f"no system prompt: {own.name}/system_prompt.md is missing or blank")
    ]


@pytest.mark.parametrize(
    ("model_id", "caching", "told"),
    [
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1", "auto", 1),
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1", "off", 0),
        (LLAMA, "auto", 1),
        (CLAUDE, "auto", 0),
    ],
)
def test_the_log_says_at_start_where_nothing_will_be_cached(
    whole: Whole, own: Path, model_id: str, caching: str, told: int, capsys: pytest.CaptureFixture[str]
) -> None:
    function_of(whole, own, MODEL_ID=model_id, PROMPT_CACHING=caching)
    assert capsys.readouterr().out.count("PROMPT_CACHING is auto, but this model is asked to cache nothing") == told


def test_a_prompt_that_is_no_utf_8_is_told_with_its_file(whole: Whole, own: Path) -> None:
    (own / "system_prompt.md").write_bytes("こんにちは".encode("cp932"))
    function = function_of(whole, own)
    failure = function.entrance.failure
    assert isinstance(failure, MisconfiguredError)
    assert failure.detail.startswith(f"{own.name}/system_prompt.md must be UTF-8: ")


def test_a_folder_that_is_not_there_is_an_agent_without_prompt_and_tools(whole: Whole, own: Path) -> None:
    function = function_of(whole, own.with_name("nowhere"))
    assert system_sent(whole, function) is None
    assert "toolConfig" not in whole.requests[-1].body


def test_a_mistake_in_a_tool_is_misconfigured_everywhere_and_its_place_is_in_the_log(
    whole: Whole, own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own / "tools").mkdir()
    (own / "tools" / "orders.py").write_text("import json\n\ntabel\n")
    function = function_of(whole, own)
    _, error = function.answer({"question": "hi"}, None)
    response, _ = function.answer(http_api("GET", "/health"), None)
    assert isinstance(error, MisconfiguredError)
    assert error.message == MisconfiguredError.default
    assert response
    assert (response["statusCode"], json.loads(response["body"])["error"]["code"]) == (500, "misconfigured")
    told = f"The tool module orders can't be loaded: NameError: name 'tabel' is not defined ({own.name}/tools/orders.py, line 3)."
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["detail"] for line in lines if line.get("error.type") == "misconfigured"} == {told}


def test_no_tools_are_offered_where_the_setting_is_empty(whole: Whole, own: Path) -> None:
    (own / "tools").mkdir()
    (own / "tools" / "orders.py").write_text("tabel\n")
    system_sent(whole, function_of(whole, own, TOOLS=""))
    assert "toolConfig" not in whole.requests[-1].body
