"""The environment of the function on this machine: who answers it, and what of the developer's own reaches it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

import botocore.session

from local.problem import ProblemError

_REGION = "us-east-1"


def use_stand_in(environment: dict[str, str], url: str, model_id: str) -> None:
    """The stand-in for Bedrock at that address answers."""
    _leave_aws(environment)
    environment.update(MODEL_PROVIDER="bedrock", MODEL_ID=model_id, AWS_ENDPOINT_URL_BEDROCK_RUNTIME=url)


def use_endpoint(environment: dict[str, str], url: str, model_id: str | None) -> str:
    """An OpenAI-compatible endpoint answers, as the text says. The key stays where it is, in the caller's own environment.

    Raises ProblemError.
    """
    if not model_id:
        raise ProblemError(
            "--model-url needs --model, the model's name at that endpoint, unless cdk.json has model_provider=openai."
        )
    _leave_aws(environment)
    environment.pop("OPENAI_API_KEY_SECRET", None)
    environment.update(MODEL_PROVIDER="openai", MODEL_ID=model_id, OPENAI_BASE_URL=url)
    # Without what may be a password or a key.
    address = urlsplit(url)._replace(netloc=urlsplit(url).netloc.rpartition("@")[2], query="", fragment="").geturl()
    return f"{model_id} answers, at {address}. Sessions stay on this machine."


def _leave_aws(environment: dict[str, str]) -> None:
    """Nothing of the developer's AWS settings reaches the function."""
    for name in [name for name in environment if name.startswith("AWS_")]:
        del environment[name]
    environment.update(
        AWS_ACCESS_KEY_ID="local",
        AWS_SECRET_ACCESS_KEY="local",
        AWS_REGION=_REGION,
        AWS_DEFAULT_REGION=_REGION,
        AWS_CONFIG_FILE=os.devnull,
        AWS_SHARED_CREDENTIALS_FILE=os.devnull,
        AWS_EC2_METADATA_DISABLED="true",
    )


def use_bedrock(environment: dict[str, str], model_id: str | None) -> str:
    """Bedrock answers, as the text says, with the caller's own credentials and region. Raises ProblemError for what they lack."""
    if not model_id:
        raise ProblemError("--aws needs --model, since the model_id of cdk.json is none of Bedrock's.")
    region = own_region()
    if botocore.session.Session().get_credentials() is None:
        raise ProblemError("No AWS credentials are found: `aws configure` or `aws sso login` makes some.")
    # The endpoint that local_stack sets for DynamoDB must hold whatever the profile says, or sessions would leave.
    environment.update(AWS_IGNORE_CONFIGURED_ENDPOINT_URLS="false", AWS_ACCOUNT_ID_ENDPOINT_MODE="disabled")
    environment.update(MODEL_PROVIDER="bedrock", MODEL_ID=model_id, AWS_REGION=region, AWS_DEFAULT_REGION=region)
    return f"{model_id} on Amazon Bedrock in {region} answers, at your account's cost. Sessions stay on this machine."


def own_region() -> str:
    """The caller's own region. Raises ProblemError where there is none."""
    region = os.environ.get("AWS_REGION") or botocore.session.Session().get_config_variable("region")
    if not region:
        raise ProblemError("No AWS region is set: export AWS_REGION, or choose a profile that has one.")
    return str(region)


def no_proxy() -> str:
    """Where no proxy is to be asked: on this machine, and where none was before."""
    before = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
    return ",".join(filter(None, ("127.0.0.1,localhost", before)))


@contextmanager
def process_environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Within the context, the environment of this process is just this."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
