"""The bundle as a CDK asset. It is made here and not by the CDK's own bundling, which knows Docker or a callback."""

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_

from infra.bundle import Bundle
from infra.choices import ConfigError
from infra.compiler import BundleError, Compiler, find_compiler
from infra.config import SETTINGS, Config
from infra.declared import Declared, declared

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "lambda"
# The user's part of it.
OWN = SOURCE / "my_agent"
# By cdk.json's `sdk`: the function itself loads no SDK, and what a tool imports, Lambda's runtime has.
LOCKS = {name: ROOT / "requirements" / f"{lock}.lock" for name, lock in (("runtime", "runtime"), ("bundle", "sdk"))}
BUNDLES = ROOT / "build" / "bundles"
# Enough for a deployment, its rehearsal and the version before.
BUNDLES_KEPT = 3
# At the bundle's root, for the function: as lambda/agent/tooling/secrets.py reads it.
SECRETS_FILE = "tools.json"
PYTHON = "3.13"
MACHINES = {"arm64": "aarch64", "x86_64": "x86_64"}


def function_bundle(
    config: Config,
    *,
    own: Path = OWN,
    find: Callable[[str], Compiler | None] = find_compiler,
) -> Bundle:
    """The bundle for the choices, with what the tools on offer need and declare.

    Raises ConfigError for a tool that there is no module of, and for pyc=require without a Python to compile; DeclaredError; and
    BundleError for packages that no lock has.
    """
    here = config.bundle_for == "machine"
    tools = offered_modules(config.tools, own)
    for tool in tools:
        _check_lock(tool)
    return Bundle(
        source=SOURCE,
        locks=(LOCKS[config.sdk], *filter(Path.is_file, [tool.with_suffix(".lock") for tool in tools])),
        machine=None if here else MACHINES[config.architecture],
        python=PYTHON,
        # Compiled by another version, the files would only be ballast here.
        compiler=None if here or config.pyc == "off" else _compiler(config.pyc, find),
        written={SECRETS_FILE: _secrets_json(declared(tools, SETTINGS))},
    )


def offered_modules(chosen: tuple[str, ...] | None, own: Path = OWN) -> list[Path]:
    """The files of the tool modules that the function will offer.

    Raises ConfigError for a name that no module has or two have.
    """
    users, shipped = (
        {path.stem: path for path in sorted((folder / "tools").glob("[!._]*.py"))} for folder in (own, SOURCE / "agent")
    )
    asked = ("*",) if chosen is None else chosen
    names = dict.fromkeys(each for name in asked for each in (users if name == "*" else [name]))
    for name in names:
        if name not in users and name not in shipped:
            raise ConfigError("tools", ",".join(asked), f"without {name}: there is no such tool module")
        if name in users and name in shipped:
            raise ConfigError(
                "tools", ",".join(asked), f"without {name}: one of yours and one that ships are called so"
            )
    return [users.get(name) or shipped[name] for name in names]


def _secrets_json(needs: Mapping[str, Declared]) -> str:
    """Which secrets the tools of each module may read, in the form of the .toml that they stand in."""
    secrets = {module: {"secrets": dict(each.secrets)} for module, each in needs.items() if each.secrets}
    return json.dumps(secrets, indent=2, sort_keys=True) + "\n"


def _check_lock(tool: Path) -> None:
    requirements, lock = tool.with_suffix(".in"), tool.with_suffix(".lock")
    if not requirements.is_file():
        return
    names = {_package(line) for line in requirements.read_text(encoding="utf-8").splitlines()} - {""}
    locked = {_package(line) for line in lock.read_text(encoding="utf-8").splitlines()} if lock.is_file() else set()
    if names - locked:
        told = "/".join(requirements.parts[-3:])
        raise BundleError(f"{told}: {', '.join(sorted(names - locked))} in no {lock.name} beside it: run `make lock`")


def _package(line: str) -> str:
    """The name of the package that a line asks for, as packages' names are compared (PEP 503); blank for any other line."""
    found = re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", line)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


def function_code(stack: cdk.Stack, bundle: Bundle) -> lambda_.Code:
    """The asset, named by the bundle's fingerprint. Raises BundleError.

    Where the CDK wants no bundle (`cdk destroy`, say), the source alone stands for it.
    """
    fingerprint = bundle.fingerprint()
    folder = made(bundle, BUNDLES / fingerprint) if stack.bundling_required else bundle.source
    return lambda_.Code.from_asset(str(folder), asset_hash_type=cdk.AssetHashType.CUSTOM, asset_hash=fingerprint)


class Buildable(Protocol):
    """What fills a folder."""

    def build(self, output: Path) -> None:
        """Fills an empty folder."""


def made(bundle: Buildable, folder: Path) -> Path:
    """The folder, filled with the bundle unless it has been before; older ones beside it are removed."""
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.parent.iterdir(), key=lambda path: path.stat().st_mtime)[: 1 - BUNDLES_KEPT]:
        shutil.rmtree(old)
    # Renamed when it is whole, so that one that broke off is never taken for it.
    with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
        output = Path(unfinished) / "bundle"
        output.mkdir()
        bundle.build(output)
        output.rename(folder)
    return folder


def _compiler(pyc: str, find: Callable[[str], Compiler | None]) -> Compiler | None:
    compiler = find(PYTHON)
    if pyc == "require" and compiler is None:
        raise ConfigError("pyc", pyc, f"auto or off where no Python {PYTHON} is found on this machine")
    return compiler
