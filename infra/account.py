"""Who deploys, and where to: asked before anything takes minutes, and what is missing said in one sentence."""

import os
import re
from collections.abc import Mapping
from typing import Any

import boto3
from botocore.config import Config as ClientConfig
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError, ProfileNotFound

from infra.config import Config
from infra.permissions import GEOGRAPHY
from infra.regions import TEST_EVENT_REGISTRY

# A CDK bootstrapped with another qualifier says so in the context.
QUALIFIER = "@aws-cdk/core:bootstrapQualifier"
QUICK = ClientConfig(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 2})


class AccountError(Exception):
    """Credentials, region or account are not ready; the message says in a sentence what to do."""


def session_of(profile: str | None = None, environment: Mapping[str, str] = os.environ) -> boto3.Session:
    """A session with a region, by the environment or the profile. Raises AccountError."""
    try:
        session = boto3.Session(profile_name=profile, region_name=region_of(environment))
    except ProfileNotFound as error:
        raise AccountError(f"{error}: AWS_PROFILE or --profile must name one of ~/.aws/config.") from error
    if not session.region_name:
        raise AccountError("No AWS region is set: export AWS_REGION, or choose a profile that has one.")
    return session


def region_of(environment: Mapping[str, str]) -> str | None:
    """The region that the environment names. The CDK reads both variables, boto3 the second alone."""
    return environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")


def caller(session: boto3.Session) -> tuple[str, str]:
    """The account and the ARN of whoever the credentials are. Raises AccountError."""
    try:
        found = session.client("sts", config=QUICK).get_caller_identity()
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise AccountError("No AWS credentials are found: `aws configure` or `aws sso login` makes some.") from error
    except ClientError as error:
        code = error.response["Error"]["Code"]
        raise AccountError(
            f"AWS doesn't take the credentials ({code}): renew them, as with `aws sso login`."
        ) from error
    except BotoCoreError as error:
        raise AccountError(f"AWS can't be asked who you are: {error}.") from error
    return found["Account"], found["Arn"]


def check_bootstrap(session: boto3.Session, context: Mapping[str, object]) -> None:
    """Raises AccountError where the CDK was never set up in the account and region; where that can't be asked, says nothing."""
    name = f"/cdk-bootstrap/{context.get(QUALIFIER, 'hnb659fds')}/version"
    try:
        session.client("ssm", config=QUICK).get_parameter(Name=name)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            raise AccountError(
                "The CDK is not set up in this account and region: `.venv/bin/python -m infra.cdk bootstrap` does it, once."
            ) from error
    except BotoCoreError:
        return


def model_warnings(session: boto3.Session, config: Config) -> list[str]:
    """A sentence for each model of Bedrock that the account can't call yet, as far as it may be asked."""
    told = []
    for model_id in config.model_ids if config.model_provider == "bedrock" else ():
        if model_id.startswith("arn:"):
            continue
        profile = re.fullmatch(GEOGRAPHY, model_id)
        model = profile["model"] if profile else model_id
        try:
            found = session.client("bedrock", config=QUICK).get_foundation_model_availability(modelId=model)
        except (ClientError, BotoCoreError):
            continue
        states = {"agreement": found["agreementAvailability"]["status"], "region": found["regionAvailability"]}
        if lacking := [name for name, state in states.items() if state != "AVAILABLE"]:
            told.append(f"Amazon Bedrock says of {model_id}: no {' and no '.join(lacking)} for this account here yet.")
    return told


def make_registry(session: boto3.Session) -> bool:
    """Makes the registry of test events, of which an account and region has one, unless it is there. Raises AccountError."""
    schemas: Any = session.client("schemas", config=QUICK)
    try:
        schemas.describe_registry(RegistryName=TEST_EVENT_REGISTRY)
        return False
    except schemas.exceptions.NotFoundException:
        schemas.create_registry(RegistryName=TEST_EVENT_REGISTRY)
        return True
    except (ClientError, BotoCoreError) as error:
        raise AccountError(f"test_events=create: the registry can't be made: {error}.") from error
