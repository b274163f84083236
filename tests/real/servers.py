"""Servers that others wrote, as processes on loopback, each within its context."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

_PATIENCE = 300  # seconds; LiteLLM takes 20 to import on a machine that has nothing else to do
KEY = "sk-real-test"


@contextmanager
def llama_cpp(context: int = 2048, key: str = "", template: str = "") -> Iterator[str]:
    """llama.cpp with SmolLM2: its base URL."""
    settings = json.dumps({"context": context, "key": key, "template": template})
    command = [sys.executable, "-m", "tests.real.llama_cpp", settings]
    with _process(command) as process:
        assert process.stdout
        yield process.stdout.readline().strip() + "/v1"


@contextmanager
def litellm(bedrock: str, folder: Path, model_id: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """LiteLLM's proxy before Bedrock's stand-in, with a model `claude`: its base URL, and its process."""
    config = folder / "litellm.yaml"
    parameters = {
        "model": f"bedrock/converse/{model_id}",
        "aws_bedrock_runtime_endpoint": bedrock,
        "aws_region_name": "us-east-1",
    }
    told = {
        "model_list": [{"model_name": "claude", "litellm_params": parameters}],
        "general_settings": {"master_key": KEY},
        "litellm_settings": {"num_retries": 0, "telemetry": False},
    }
    config.write_text(json.dumps(told))  # JSON is YAML
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(Path(sys.executable).parent / "litellm"),
        "--config",
        str(config),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    with _process(command) as process:
        url = f"http://127.0.0.1:{port}"
        _wait_for(f"{url}/health/liveliness", process)
        yield f"{url}/v1", process


@contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "DISABLE_ADMIN_UI": "True"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _wait_for(url: str, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        assert process.poll() is None, "the server did not start"
        try:
            with urlopen(url, timeout=5):  # our own loopback address
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise AssertionError("the server did not answer")
