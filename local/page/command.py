"""The command `page`: the page of a deployed function, through this machine alone, with the caller's own credentials."""

import os
import signal
from collections.abc import Callable

import boto3
from botocore.config import Config as ClientConfig
from botocore.exceptions import BotoCoreError, ClientError

from local.foreground import opened, until_interrupted
from local.function import LAMBDA, importable
from local.gateway import Gateway
from local.problem import ProblemError
from local.screen import Screen
from local.settings import start_from

_SECONDS = 910  # that an answer may take: Lambda's longest, and a little


def show_page(
    function: str, screen: Screen, port: int, region: str | None, wait: Callable[[str], object] | None = None
) -> int:
    """Serve the page until interrupted, or until `wait` (given its address) is over. Returns the exit code.

    Raises ProblemError where the function can't be found or the port is taken.
    """
    with importable():
        from local.page.backends import Deployed
        from local.page.site import Site

        try:
            session = boto3.Session(region_name=region or os.environ.get("AWS_REGION"))
            if session.region_name is None:
                raise ProblemError("No AWS region is set: export AWS_REGION, or name one with --region.")
            client = session.client(
                "lambda", config=ClientConfig(read_timeout=_SECONDS, retries={"total_max_attempts": 1})
            )
            environment = {**os.environ, "AWS_REGION": session.region_name}
            backend = Deployed(client, function, environment, start_from({}, LAMBDA, session.region_name).config)
        except KeyError as error:
            raise ProblemError(f"{function} is no agent of this project: it has no variable {error}.") from error
        except (BotoCoreError, ClientError) as error:
            raise ProblemError(f"The function {function} can't be read: {error}") from error
        site = Site(backend, with_token=True)
        gateway = opened(lambda: Gateway(lambda event: ({}, False), routes=[], port=port, before=site.answer), port)
        with gateway:
            address = f"{gateway.url}/?token={site.token}"
            screen.line(f"The page of {function} is at {address}; Ctrl-C ends it.")
            screen.line("Who has this address uses your credentials, and may approve whatever APPROVERS says.")
            until_interrupted(screen, (lambda: wait(address)) if wait else signal.pause)
    return 0
