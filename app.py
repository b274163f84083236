"""The CDK app: one stack, made from the choices in cdk.json."""

import os
import sys

from infra.choices import ConfigError
from infra.compiler import BundleError
from infra.context import choices
from infra.declared import DeclaredError
from infra.feature_flags import FEATURE_FLAGS
from infra.node import use_node


def main() -> None:
    """Synthesises the stack; a wrong choice stops with one sentence, a bundle that can't be made with what pip says."""
    use_node()
    # Importing the CDK starts Node.js, so not before it was found.
    import aws_cdk as cdk

    from infra.stack import AgentStack

    app = cdk.App(context=FEATURE_FLAGS)
    # The CLI sets these to the account and region of the caller's credentials.
    environment = cdk.Environment(
        account=os.environ.get("CDK_DEFAULT_ACCOUNT"), region=os.environ.get("CDK_DEFAULT_REGION")
    )
    try:
        config = choices(app.node.get_all_context(), environment.region)
        AgentStack(app, config, env=environment)
    except ConfigError as error:
        sys.exit("\n".join(f"cdk.json or -c: {line.removesuffix('.')}." for line in str(error).splitlines()))
    except (BundleError, DeclaredError) as error:
        sys.exit(str(error))
    app.synth()


main()
