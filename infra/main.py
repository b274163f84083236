"""The synth: from the choices to the stack, with what app.py adds, judged by the security rules."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from infra.choices import ConfigError
from infra.compiler import BundleError
from infra.context import choices, config_sentences
from infra.declared import DeclaredError
from infra.feature_flags import FEATURE_FLAGS
from infra.node import use_node

if TYPE_CHECKING:
    from infra.stack import AgentStack


def synthesise(extend: Callable[["AgentStack"], None]) -> None:
    """Makes the stack, lets `extend` add to it, and writes it. Exits with a sentence for each choice that can't be."""
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
        extend(AgentStack(app, config, env=environment))
    except ConfigError as error:
        sys.exit(config_sentences(error))
    except (BundleError, DeclaredError) as error:
        sys.exit(str(error))
    if config.cdk_nag:
        from cdk_nag import AwsSolutionsChecks, ServerlessChecks

        cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    try:
        app.synth()
    except RuntimeError as error:
        # What the rules found, each with how to acknowledge it; the CDK's own trace says no more.
        told = str(error)
        if "ValidationFailed" not in told:
            raise
        sys.exit(told)
