"""The CDK command line, pinned by infra/cli/package-lock.json: `python -m infra.cdk deploy -c name=mine`."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from infra.account import (
    AccountError,
    caller,
    check_bootstrap,
    make_registry,
    model_warnings,
    region_of,
    session_of,
)
from infra.choices import ConfigError
from infra.command_line import chosen, profile_of
from infra.context import choices, config_sentences
from infra.node import NodeError, npm_install, use_node
from infra.regions import TEST_EVENT_REGISTRY

ROOT = Path(__file__).parent.parent
CLI = ROOT / "infra" / "cli"
SCRIPT = CLI / "node_modules" / "aws-cdk" / "bin" / "cdk"
REACHING_AWS = ("deploy", "diff", "destroy")
QUIET = {
    # Whoever wants notices or telemetry sets these the other way.
    "CDK_DISABLE_CLI_TELEMETRY": "true",
    "AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED": "true",
}


def cdk_command() -> list[str]:
    """The command that runs the CDK, installed by `npm ci` where it isn't yet. Raises NodeError."""
    node = use_node()
    npm_install(CLI, "the CDK command line")
    # This interpreter makes the stack, not whichever python3 comes first.
    return [node, str(SCRIPT), "--app", f'"{sys.executable}" app.py', "--no-notices"]


def cdk_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment for the command: quiet unless it says otherwise."""
    return {**QUIET, **environment}


def look_around(arguments: list[str]) -> None:
    """Says who deploys and where to, and does what must be done outside the stack. Raises AccountError and ConfigError."""
    session = session_of(profile_of(arguments))
    context = chosen(arguments)
    config = choices(context, session.region_name)
    account, arn = caller(session)
    print(f"Account {account}, region {session.region_name}, stack {config.name}, as {arn}", file=sys.stderr)
    if arguments[0] == "deploy":
        check_bootstrap(session, context)
        if config.test_events == "create" and make_registry(session):
            print(f"The registry {TEST_EVENT_REGISTRY} was made", file=sys.stderr)
        for sentence in model_warnings(session, config):
            print(f"Warning: {sentence}", file=sys.stderr)


def main(arguments: list[str]) -> int:
    """Runs the CDK with these arguments in the project's folder and returns its exit code."""
    try:
        if arguments and arguments[0] in REACHING_AWS:
            look_around(arguments)
        elif arguments and arguments[0] == "bootstrap" and not any(each.startswith("aws://") for each in arguments):
            # What it sets up is then the account and region of the credentials.
            caller(session_of(profile_of(arguments)))
        elif arguments and arguments[0] == "synth":
            # The app checks them too, but starts Node.js twice before.
            choices(chosen(arguments), region_of(os.environ))
        command = cdk_command()
    except (NodeError, AccountError) as error:
        print(error, file=sys.stderr)
        return 1
    except ConfigError as error:
        print(config_sentences(error), file=sys.stderr)
        return 1
    # A template has some thousand lines, which nobody reads in a terminal.
    is_synth = arguments[:1] == ["synth"] and not {"-q", "--quiet"} & {*arguments}
    quiet = ["--quiet"] if is_synth else []
    code = subprocess.run([*command, *arguments, *quiet], cwd=ROOT, env=cdk_environment(), check=False).returncode
    if quiet and not code:
        print("The template is in cdk.out.", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
