"""Whether the function can be built at all: tried before a deployment, in a process of its own, with what Lambda would give it.

The packages are those of the bundle's locks, installed for this machine, and the SDK, which the runtime has; nothing else of this
environment can be imported. There are no credentials.
"""

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from infra.bundle import Bundle, install
from infra.bundling import BUNDLES, made
from infra.compiler import BundleError

SECONDS = 60
WHEELS = BUNDLES.with_name("wheels")
# What the runtime's boto3 consists of.
SDK = ("boto3", "botocore", "dateutil", "jmespath", "s3transfer", "six", "urllib3")
# The function's log lines go to stderr, what keeps it from starting to stdout.
SCRIPT = """
import contextlib, sys
from importlib.machinery import PathFinder
wheels, function, packages, *names = sys.argv[1:]
sys.path[:0] = [function, wheels]
class Runtime:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, [packages]) if name in names else None
sys.meta_path.append(Runtime)
with contextlib.redirect_stdout(sys.stderr):
    import handler, os
    failure = handler.start(os.environ).entrance.failure
if failure:
    print(failure.detail or failure.message)
"""


# Lambda's own variables ("Defined runtime environment variables" in its Developer Guide), and nothing of the developer's account.
LAMBDA = {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
    "LANG": "en_US.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "TZ": ":UTC",
}


def check_loading(bundle: Bundle, environment: Mapping[str, str], *, name: str, region: str) -> None:
    """Raises BundleError where the function would not start in its environment, with what its log would say."""
    wheels = Wheels(bundle)
    told = why_not(
        bundle.source,
        made(wheels, WHEELS / wheels.fingerprint()),
        {"AWS_REGION": region, "AWS_DEFAULT_REGION": region, "AWS_LAMBDA_FUNCTION_NAME": name, **environment},
    )
    if told:
        raise BundleError(f"The function would not start: {told}")


@dataclass(frozen=True)
class Wheels:
    """The packages of a bundle, installed for this machine."""

    bundle: Bundle

    def fingerprint(self) -> str:
        """The same for the same packages on the same Python."""
        parts = [sys.version, *(lock.read_text(encoding="utf-8") for lock in self.bundle.locks)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def build(self, output: Path) -> None:
        """Fills an empty folder. Raises BundleError."""
        install(replace(self.bundle, machine=None), output)


def why_not(function: Path, wheels: Path, environment: Mapping[str, str]) -> str | None:
    """What keeps the function of a folder from starting in this environment, or None."""
    # Isolated and without the packages of this environment, of which the bundle has none.
    command = [sys.executable, "-I", "-S", "-B", "-c", SCRIPT]
    command += [str(wheels), str(function), sysconfig.get_path("purelib"), *SDK]
    given = {**LAMBDA, "LAMBDA_TASK_ROOT": str(function), **environment}
    try:
        done = subprocess.run(
            command, cwd=function, env=given, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"it was not ready after {SECONDS} s. Does a tool module wait for something where it is imported?"
    if done.returncode:
        return f"its process ended with {done.returncode}: {done.stderr.strip()}"
    return done.stdout.strip() or None
