"""The examples for clients are read and run as they stand."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.node import find_node
from local.bedrock.reply import Reply
from tests.local.test_serve_streaming import serving

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
SAID = "You said: héllo, 日本 - and that is all of it."
# Prints each event as a line of JSON, and the message of an error.
DRIVERS = {
    "streamed.mjs": """
import {{ streamed }} from {path};
try {{
  for await (const {{ event, data }} of streamed({url}, {body})) console.log(JSON.stringify([event, data]));
}} catch (error) {{
  console.log(JSON.stringify(["raised", error.message]));
}}
""",
    "streamed.py": """
import json, runpy, urllib.error
streamed = runpy.run_path({path})["streamed"]
try:
    for event in streamed({url}, json.loads({body!r})):
        print(json.dumps(event))
except urllib.error.HTTPError as error:
    print(json.dumps(["raised", json.load(error)["error"]["message"]]))
""",
}


def model(model_id: str, request: dict[str, Any]) -> Reply:
    return Reply([{"text": SAID}], pause_seconds=0.02)


def run(example: str, url: str, body: dict[str, Any]) -> list[Any]:
    """What an example's function gives for a request."""
    script = DRIVERS[example].format(
        path=json.dumps(str(EXAMPLES / example)), url=json.dumps(url), body=json.dumps(body)
    )
    command = (
        [find_node(os.environ["PATH"]), "--input-type=module", "-e", script]
        if example.endswith("mjs")
        else [sys.executable, "-c", script]
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("example", DRIVERS)
def test_an_example_reads_a_stream_a_refusal_and_an_answer_that_is_not_streamed(example: str) -> None:
    with serving(model) as url:
        events = run(example, f"{url}/chat", {"question": "hi", "session_id": "s"})
        refused = run(example, f"{url}/chat", {"question": " "})
    assert (events[0][0], events[-1][0]) == ("start", "answer")
    assert len([name for name, _ in events if name == "text"]) > 1
    assert "".join(data["text"] for name, data in events if name == "text") == SAID == events[-1][1]["answer"]
    [[kind, message]] = refused
    assert kind == "raised"
    assert message.startswith("question must be a text")
    with serving(model, streams=False) as url:
        [[event, answer]] = run(example, f"{url}/chat", {"question": "hi"})
    assert (event, answer["answer"]) == ("answer", SAID)


@pytest.mark.parametrize("example", DRIVERS)
def test_an_example_is_short_enough_to_read(example: str) -> None:
    assert len((EXAMPLES / example).read_text(encoding="utf-8").splitlines()) <= 30
