"""The function behind HTTP, through the command's own code."""

import io
import signal
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from local.gateway import Gateway
from local.problem import ProblemError
from local.screen import Screen
from local.serve import serve
from local.stack import Choices, local_stack


def post(url: str) -> str:
    request = urllib.request.Request(f"{url}/chat", b'{"a":1}', {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return str(response.read().decode())


def test_the_function_answers_over_http_until_interrupted(choices: Choices, tmp_path: Path) -> None:
    shown = io.StringIO()
    answers: list[str] = []

    def use(url: str) -> None:
        answers.append(post(url))
        raise KeyboardInterrupt

    with local_stack(replace(choices, keep=tmp_path / "kept.json")) as stack:
        assert serve(stack, Screen(shown), 0, [], use) == 0
    assert answers == ['{"a":1}']
    assert "POST /chat  200" in shown.getvalue()
    assert (tmp_path / "kept.json").exists()


def test_sigterm_ends_it_like_ctrl_c(choices: Choices) -> None:
    with local_stack(choices) as stack:
        assert serve(stack, Screen(io.StringIO()), 0, [], lambda _: signal.raise_signal(signal.SIGTERM)) == 0
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_taken_port_is_told(choices: Choices) -> None:
    with local_stack(choices) as stack, Gateway(stack.function.invoke) as other:
        port = int(other.url.rpartition(":")[2])
        with pytest.raises(ProblemError, match=f"Port {port} can't be served: it is in use"):
            serve(stack, Screen(io.StringIO()), port, [], lambda _: None)
