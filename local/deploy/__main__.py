"""The command line: python -m local.deploy [-c KEY=VALUE ...]."""

import argparse
import sys
from collections.abc import Sequence

from infra.node import NodeError
from local.deploy.rehearsal import Rehearsal, RehearsalError
from local.screen import Screen
from local.terminal import visible_output


def main(arguments: Sequence[str] | None = None) -> int:
    """Rehearses a deploy. Returns 0 where everything is as it should be, 1 where it isn't."""
    parser = argparse.ArgumentParser(
        prog="python -m local.deploy",
        description="Deploys the stack on this machine alone, calls it, and destroys it again. No AWS account is used.",
    )
    parser.add_argument("-c", dest="choices", metavar="KEY=VALUE", action="append", default=[], help="as for the CDK")
    choices = parser.parse_args(arguments).choices
    with visible_output():
        try:
            return Rehearsal(Screen(sys.stdout), choices).run()
        except (RehearsalError, NodeError) as error:
            print(f"deploy-local: {error}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
