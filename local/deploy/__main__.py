"""The command line: python -m local.deploy [-c KEY=VALUE ...] [--hold]."""

import argparse
import signal
import sys
from collections.abc import Sequence

from infra.node import NodeError
from local.deploy.rehearsal import Rehearsal, RehearsalError
from local.problem import ProblemError
from local.screen import Screen
from local.terminal import visible_output


def main(arguments: Sequence[str] | None = None) -> int:
    """Rehearses a deploy. Returns 0 where everything is as it should be, 1 where it isn't."""
    parser = argparse.ArgumentParser(
        prog="python -m local.deploy",
        description="Deploys the stack on this machine alone, calls it, and destroys it again. No AWS account is used.",
    )
    parser.add_argument("-c", dest="choices", metavar="KEY=VALUE", action="append", default=[], help="as for the CDK")
    parser.add_argument(
        "--hold", action="store_true", help="keep what was deployed up until Ctrl-C, and say where it is"
    )
    asked = parser.parse_args(arguments)
    with visible_output():
        try:
            return Rehearsal(Screen(sys.stdout), asked.choices, _until_interrupted if asked.hold else None).run()
        except (RehearsalError, NodeError, ProblemError) as error:
            print(f"deploy-local: {error}", file=sys.stderr)
            return 1


def _until_interrupted() -> None:
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        signal.pause()
    except KeyboardInterrupt:
        print()
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
