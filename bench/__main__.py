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
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import certifi
from moto.server import ThreadedMotoServer

from bench.first_text import FIRST_PIECE_SECONDS, PAUSE_SECONDS, PIECES
from local.bedrock.reply import Reply
from local.bedrock.server import BedrockServer
from tests.agent.aws.servers import Authority, answering, ok, serving

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


def speaker(_: str, request: dict[str, Any]) -> Reply:
    """An answer that takes a second, in pieces."""
    said = "x" * 8 * PIECES
    return Reply([{"text": said}], latency_seconds=FIRST_PIECE_SECONDS, pause_seconds=PAUSE_SECONDS)


def measured(module: str, *arguments: str, environment: Mapping[str, str]) -> dict[str, float]:
    """The figures of one fresh process, in milliseconds of CPU time."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=_ROOT, env=dict(environment), capture_output=True, text=True, check=False)
    try:
        figures: dict[str, float] = json.loads(done.stderr.splitlines()[-1])
    except (IndexError, ValueError):
        raise SystemExit(f"{arguments[0]} failed:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}") from None
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
    over_tls = defaultdict[str, dict[str, list[float]]](lambda: defaultdict(list))
    streamed = defaultdict[str, list[float]](list)
    with BedrockServer(model) as bedrock, BedrockServer(speaker) as speaks, _over_tls() as (bundle, closing, keeping):
        environment["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"] = bedrock.url
        for run in range(args.runs):
            order = list(_TARGETS.items())[:: 1 if run % 2 else -1]  # noise of the machine hits both alike
            for name, module in order:
                table = f"{module.replace('.', '-')}-{run}"
                _create_table(table, environment)
                turns = {**environment, "TABLE_NAME": table}
                for row, value in measured("bench.worker", module, str(args.turns), environment=turns).items():
                    figures[name][row].append(value)
                calls = {**environment, "AWS_CA_BUNDLE": bundle}
                for row, value in measured("bench.connection", module, closing, keeping, environment=calls).items():
                    over_tls[name][row].append(value)
            heard = environment | {"TABLE_NAME": f"handler-{run}", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": speaks.url}
            for row, value in measured("bench.first_text", "3", environment=heard).items():
                streamed[row].append(value)
            sys.stderr.write(f"run {run + 1} of {args.runs}\n")
    moto.stop()
    _print("CPU, ms, median", figures)
    print()
    _print("TLS alone, with a store of real size", over_tls)
    print(f"\n| a streamed answer of 1 s, wall, ms (the model's own first piece: {FIRST_PIECE_SECONDS * 1000:.0f}) | |")
    print("| --- | ---: |")
    for row, values in streamed.items():
        print(f"| {row} | {statistics.median(values):.1f} |")


def _print(title: str, figures: Mapping[str, Mapping[str, list[float]]]) -> None:
    base, ours = (figures[name] for name in _TARGETS)
    print(f"| {title} | " + " | ".join(_TARGETS) + " | ratio |\n| --- | ---: | ---: | ---: |")
    for row in base:
        plain, project = statistics.median(base[row]), statistics.median(ours[row])
        print(f"| {row} | {plain:.1f} | {project:.1f} | {project / plain:.2f} |")


@contextmanager
def _over_tls() -> Iterator[tuple[str, str, str]]:
    """A file of trusted certificates, and two servers that have one of these: one closes its connections, one keeps them."""
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder))
        bundle = Path(folder) / "bundle.pem"
        bundle.write_bytes(Path(certifi.where()).read_bytes() + authority.bundle.read_bytes())
        closing = answering(ok(b"{}", Connection="close"), close=True)
        with (
            serving(closing, authority.context()) as first,
            serving(answering(ok(b"{}")), authority.context()) as second,
        ):
            yield str(bundle), first.url, second.url


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
