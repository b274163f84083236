"""The whole path of a deploy: synth, bundle, deploy, read back, run, call, destroy, and look for what is left."""

import io
import json
import os
import shutil
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from infra.cdk import ROOT, cdk_command, cdk_environment
from local.bedrock.server import BedrockServer
from local.deploy.invoke_api import InvokeApi
from local.deploy.moto_cloud import MotoCloud
from local.deploy.readback import Check, Template, deployed_routes, left_over, read_back
from local.deploy.runtime import LambdaRuntime
from local.deploy.streams import send_streams
from local.deploy.traffic import Api, send_events, send_requests
from local.offline.model import BANNER, answer
from local.screen import Screen

WORK = ROOT / "build" / "rehearsal"
TASK = WORK / "task"
# moto finds no change sets to update, and forgets parameters.
DEPLOY = ["--require-approval", "never", "--method=direct", "--no-previous-parameters"]


class RehearsalError(Exception):
    """A step could not be taken; the message says which and why."""


@dataclass
class Rehearsal:
    """One run: what it prints to, the choices that go to the CDK, how long what was deployed stays, and what it found."""

    screen: Screen
    choices: Sequence[str] = ()
    hold: Callable[[], object] | None = None
    checks: list[Check] = field(default_factory=list)

    def run(self) -> int:
        """Takes all steps and returns the exit code: 0 where everything is as it should be."""
        started = time.monotonic()
        self.screen.line("Deploys on this machine alone: moto stands in for AWS. " + BANNER, "yellow")
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        with MotoCloud() as cloud:
            with self._step("synth and bundle, for this machine"):
                chosen = [part for choice in ("bundle_for=machine", *self.choices) for part in ("-c", choice)]
                self._cdk(cloud, "synth", "--quiet", *chosen, "--output", str(WORK / "cdk.out"))
            [path] = (WORK / "cdk.out").glob("*.template.json")
            template, stack = Template.read(path), path.name.partition(".")[0]
            with self._step("deploy into the stand-in for AWS"):
                self._cdk(cloud, "deploy", *DEPLOY, "--outputs-file", str(WORK / "outputs.json"), deployed=True)
            outputs = json.loads((WORK / "outputs.json").read_text())[stack]
            with self._step("read back what is there"):
                self._note(read_back(cloud, template, outputs))
                left_out = cloud.left_out(item["Type"] for item in template.resources.values())
                self.screen.labelled("not here", "moto has no " + ", ".join(left_out), "dim")
            self._call(cloud, template, outputs)
            with self._step("destroy"):
                self._cdk(cloud, "destroy", "--force", deployed=True)
                kept = [item for item in template.resources.values() if item.get("DeletionPolicy") == "Retain"]
                found = left_over(cloud)
                # Where retain_sessions asks for it, the table stays.
                self._note([Check("left over", len([item for item in kept if "Table" in item["Type"]]), len(found))])
                for name in found:
                    self.screen.labelled("left", name)
        return self._summary(time.monotonic() - started)

    def _call(self, cloud: MotoCloud, template: Template, outputs: Mapping[str, str]) -> None:
        """Starts what was deployed and calls it by events and by HTTP."""
        if outputs["ApiUrl"].count("/") > 2:  # with a stage
            raise RehearsalError("Only an HTTP API can be rehearsed: leave api=rest to AWS.")
        api_id = outputs["ApiUrl"].split("//")[1].partition(".")[0]
        gateway = cloud.client("apigatewayv2")
        [integration] = gateway.get_integrations(ApiId=api_id)["Items"]
        with BedrockServer(answer) as bedrock:
            with self._step("start the deployed zip under Lambda's runtime client"):
                configuration = cloud.client("lambda").get_function_configuration(FunctionName=outputs["FunctionName"])
                self._note([_unpack(cloud, template, configuration["CodeSize"])])
                environment = {
                    **cloud.environment(),
                    "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url,
                    **configuration["Environment"]["Variables"],
                }
                runtime, streaming = (
                    LambdaRuntime(
                        TASK,
                        configuration["Handler"],
                        environment | more,
                        timeout_seconds=configuration["Timeout"],
                        name=outputs["FunctionName"],
                    )
                    for more in ({}, {"STREAMING": "true"})
                )
            with runtime:
                with self._step("send the events of events/"):
                    self._note(send_events(runtime.invoke))
                api = Api(
                    deployed_routes(gateway, api_id),
                    cloud.region,
                    gateway.get_api(ApiId=api_id).get("CorsConfiguration"),
                    integration["TimeoutInMillis"] / 1000,
                )
                with self._step("send HTTP requests through the deployed routes"):
                    self._note(send_requests(runtime.invoke, api))
                with self._step("stream an answer out of the deployed zip, over HTTP"), streaming:
                    self._note(send_streams(streaming, configuration["Timeout"]))
                if self.hold:
                    self._held(cloud, api, runtime, outputs)
                if not all(check.holds for check in self.checks):
                    told = "\n".join([*runtime.logs, *streaming.logs])
                    (WORK / "function.log").write_text(told, encoding="utf-8")
                    self.screen.labelled("log", str(WORK / "function.log"))
            broken = [rule for request in bedrock.requests for rule in request.violations if rule.level == "error"]
            self._note([Check("requests that break a rule of Bedrock's", [], [rule.message for rule in broken])])
            self._note([_expiry(cloud, outputs["TableName"])])

    def _held(self, cloud: MotoCloud, api: Api, runtime: LambdaRuntime, outputs: Mapping[str, str]) -> None:
        """Keeps what was deployed up, and says where it is, until it is told to go on."""
        assert self.hold
        name = outputs["FunctionName"]
        with api.gateway(runtime.invoke) as gateway, InvokeApi(runtime.invoke, name) as lambda_:
            self.screen.heading("It stays up until Ctrl-C; then it is destroyed")
            self.screen.labelled("HTTP API", gateway.url)
            self.screen.labelled("Lambda", f"AWS_ENDPOINT_URL_LAMBDA={lambda_.url}, function {name}")
            self.screen.labelled("the rest", f"AWS_ENDPOINT_URL={cloud.endpoint}, table {outputs['TableName']}")
            question = """-H 'Content-Type: application/json' -d '{"question": "Hello."}'"""
            self.screen.line(f"\n  curl -s {gateway.url}/chat{api.credentials()} {question}")
            self.hold()

    def _cdk(self, cloud: MotoCloud, *arguments: str, deployed: bool = False) -> None:
        """Runs the CDK against the stand-in, by the app or, once synthesised, by what came of it."""
        node, script, *app = cdk_command()
        if deployed:
            app = ["--app", str(WORK / "cdk.out")]
        # Nothing of the developer's account may reach it.
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
        done = subprocess.run(
            [node, script, *app, "--no-color", "--ci", *arguments],
            cwd=ROOT,
            env=cdk_environment({**clean, **cloud.environment()}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        (WORK / f"cdk-{arguments[0]}.log").write_text(done.stdout)
        if done.returncode:
            raise RehearsalError(f"cdk {arguments[0]} ended with {done.returncode}:\n{done.stdout.strip()}")

    @contextmanager
    def _step(self, title: str) -> Iterator[None]:
        self.screen.heading(title)
        started = time.monotonic()
        yield
        self.screen.labelled("took", f"{time.monotonic() - started:.1f} s", "dim")

    def _note(self, checks: Iterable[Check]) -> None:
        for check in checks:
            self.checks.append(check)
            if check.holds:
                self.screen.labelled("ok", check.name, "green")
            else:
                self.screen.labelled("differs", f"{check.name}: {check.found!r} instead of {check.expected!r}", "red")

    def _summary(self, seconds: float) -> int:
        wrong = [check.name for check in self.checks if not check.holds]
        self.screen.heading(f"{len(self.checks) - len(wrong)} of {len(self.checks)} checks hold, {seconds:.0f} s")
        for name in wrong:
            self.screen.labelled("differs", name, "red")
        return 1 if wrong else 0


def _expiry(cloud: MotoCloud, table: str) -> Check:
    """Whether the function stored turns there, each with its end."""
    stored = cloud.client("dynamodb").scan(TableName=table)["Items"]
    expiring = [item for item in stored if int(item["expires_at"]["N"]) > time.time()]
    return Check(
        "turns are stored in the deployed table and expire", (True, len(stored)), (bool(stored), len(expiring))
    )


def _unpack(cloud: MotoCloud, template: Template, size: int) -> Check:
    """Unpacks the zip that the function was deployed from."""
    code = template.one("Lambda::Function")["Code"]
    content = cloud.client("s3").get_object(Bucket=code["S3Bucket"], Key=code["S3Key"])["Body"].read()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(TASK)
    return Check("the deployed zip is the one that was bundled", size, len(content))
