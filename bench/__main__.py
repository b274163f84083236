"""`make bench`: fresh processes of the function and of the hand-written script in turn, against one stand-in and one moto.

The figures are CPU time of the measured process, so that the slowness of the stand-ins doesn't count; compare the ratios of
one run, not milliseconds of two.
"""

import argparse
import itertools
import json
import logging
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

from local.bedrock.reply import Reply
from local.bedrock.server import BedrockServer

_ROOT = Path(__file__).parent.parent
_TARGETS = {"script by hand": "bench.plain", "this function": "handler"}
_COUNT = itertools.count()  # no two tool uses of a conversation have one id
_MODEL_ID = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


def model(_: str, request: dict[str, Any]) -> Reply:
    """One tool use, then an answer of 2 KB."""
    if "toolResult" in request["messages"][-1]["content"][-1]:
        return Reply([{"text": "done " + "all is well with the stars " * 75}])
    use = {"toolUseId": f"t{next(_COUNT)}", "name": "read_fortune", "input": {"birthday": "1990-05-10"}}
    return Reply([{"text": "Let me look."}, {"toolUse": use}], "tool_use")


def measured(module: str, turns: int, environment: Mapping[str, str]) -> dict[str, float]:
    """The figures of one fresh process, in milliseconds of CPU time."""
    command = [sys.executable, "-m", "bench.worker", module, str(turns)]
    done = subprocess.run(command, cwd=_ROOT, env=dict(environment), capture_output=True, text=True, check=False)
    try:
        figures: dict[str, float] = json.loads(done.stderr.splitlines()[-1])
    except (IndexError, ValueError):
        raise SystemExit(f"{module} failed:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}") from None
    return figures


def main() -> None:
    """Measures and prints one Markdown table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="fresh processes of each (default: %(default)s)")
    parser.add_argument(
        "--turns", type=int, default=15, help="measured turns of each kind a process (default: %(default)s)"
    )
    args = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    moto = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{_ROOT / 'lambda'}{os.pathsep}{_ROOT}",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL_DYNAMODB": f"http://{host}:{port}",
        "MODEL_ID": _MODEL_ID,
    }
    figures: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in _TARGETS}
    with BedrockServer(model) as bedrock:
        environment["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] = bedrock.url
        for run in range(args.runs):
            order = list(_TARGETS.items())[:: 1 if run % 2 else -1]  # noise of the machine hits both alike
            for name, module in order:
                table = f"{module.replace('.', '-')}-{run}"
                _create_table(table, environment)
                for row, value in measured(module, args.turns, {**environment, "TABLE_NAME": table}).items():
                    figures[name][row].append(value)
            sys.stderr.write(f"run {run + 1} of {args.runs}\n")
    moto.stop()
    base, ours = figures.values()
    print("| CPU, ms, median | " + " | ".join(_TARGETS) + " | ratio |\n| --- | ---: | ---: | ---: |")
    for row in base:
        plain, project = statistics.median(base[row]), statistics.median(ours[row])
        print(f"| {row} | {plain:.1f} | {project:.1f} | {project / plain:.2f} |")


def _create_table(name: str, environment: Mapping[str, str]) -> None:
    client = boto3.client(
        "dynamodb",
        endpoint_url=environment["AWS_ENDPOINT_URL_DYNAMODB"],
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "session_id", "AttributeType": "S"},
            {"AttributeName": "turn", "AttributeType": "N"},
        ],
        KeySchema=[{"AttributeName": "session_id", "KeyType": "HASH"}, {"AttributeName": "turn", "KeyType": "RANGE"}],
    )


if __name__ == "__main__":
    main()
