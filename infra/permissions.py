"""What the function may do with Bedrock, from the model id alone.

A profile spreads calls over regions that change with time, so its models are allowed in any region, but only through
that profile: see "Prerequisites for inference profiles" in the Bedrock User Guide.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from infra.choices import ConfigError

INVOKE = ["bedrock:InvokeModel"]
STREAM = "bedrock:InvokeModelWithResponseStream"
# A profile's geography comes first in its id: two letters of a country or continent, or one of these.
GEOGRAPHY = r"(?P<geography>[a-z]{2}|us-gov|apac|global)\.(?P<model>[a-z0-9]+\..+)"
# Where a profile may be called from, as starts of region names; of one not listed here, from anywhere.
SOURCES = {
    "us": ("us-east-", "us-west-", "ca-"),
    "us-gov": ("us-gov-",),
    "eu": ("eu-", "il-"),
    "apac": ("ap-", "me-"),
    "jp": ("ap-northeast-",),
    "au": ("ap-southeast-",),
    "ca": ("ca-",),
}
# Regions of other partitions, which no global profile reaches.
NOT_COMMERCIAL = ("us-gov-", "cn-", "eusc-", "us-iso", "eu-iso")
# Resources that are called by their own ARN, with nothing behind them to allow.
WHOLE = ("foundation-model", "provisioned-model", "custom-model-deployment", "imported-model")

Statement = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where the stack goes; each part may be a CDK token."""

    partition: str
    region: str
    account: str

    def arn(self, kind: str, name: str, *, region: str | None = None, account: str | None = None) -> str:
        """A Bedrock ARN in this place, or with another region ("*" for any, "" for none) and account."""
        region = self.region if region is None else region
        account = self.account if account is None else account
        return f"arn:{self.partition}:bedrock:{region}:{account}:{kind}/{name}"


def model_statements(
    model_id: str, place: Place, *, application_profile_model: str | None = None, key: str = "model_id"
) -> list[Statement]:
    """IAM statements to call one model: exactly what its id needs.

    `application_profile_model` is the foundation model behind an application inference profile, whose ARN hides it;
    `key` is the key of cdk.json that the id came from. Raises ConfigError for an ARN of a kind that Converse doesn't take.
    """
    if not model_id.startswith("arn:"):
        if profile := re.fullmatch(GEOGRAPHY, model_id):
            return _profile(place.arn("inference-profile", model_id), profile["model"], place)
        return [_allow([place.arn("foundation-model", model_id, account="")])]
    kind, _, name = _arn_parts(model_id, key)[5].partition("/")
    if kind == "application-inference-profile":
        return _profile(model_id, application_profile_model or "*", place)
    if kind == "inference-profile" and (profile := re.fullmatch(GEOGRAPHY, name)):
        return _profile(model_id, profile["model"], place)
    if kind in WHOLE:
        return [_allow([model_id])]
    raise ConfigError(key, model_id, "an ARN of an inference profile or of one of " + ", ".join(WHOLE))


def with_streams(statements: Iterable[Statement]) -> list[Statement]:
    """The same statements, which allow a model's answer to be streamed, too."""
    return [{**each, "Action": [*each["Action"], STREAM]} for each in statements]


def guardrail_statements(guardrail_id: str, place: Place) -> list[Statement]:
    """The IAM statement to apply one guardrail, named by id or ARN.

    One with cross-Region inference is applied through a profile of its geography, in the region that it chooses; neither shows
    in its id ("Permissions for using cross-Region inference with Guardrails" in the Bedrock User Guide).
    """
    arn = guardrail_id if guardrail_id.startswith("arn:") else place.arn("guardrail", guardrail_id)
    resources = [arn, place.arn("guardrail-profile", "*", region="*")]
    return [{"Effect": "Allow", "Action": ["bedrock:ApplyGuardrail"], "Resource": resources}]


def key_statements(*keys: str | None) -> list[Statement]:
    """The IAM statement to read what was encrypted with one's own keys, given by their ARNs; none for AWS's own (None)."""
    own = list(dict.fromkeys(filter(None, keys)))
    return [{"Effect": "Allow", "Action": ["kms:Decrypt"], "Resource": own}] if own else []


def secret_statements(name: str, place: Place) -> list[Statement]:
    """The IAM statement to read one secret, given by its name or its whole ARN."""
    # Secrets Manager ends an ARN with a hyphen and six characters of its own.
    arn = (
        name
        if name.startswith("arn:")
        else f"arn:{place.partition}:secretsmanager:{place.region}:{place.account}:secret:{name}-??????"
    )
    return [{"Effect": "Allow", "Action": ["secretsmanager:GetSecretValue"], "Resource": [arn]}]


def check_region(model_id: str, region: str, *, key: str = "model_id") -> None:
    """Raises ConfigError where the model can't be called from the region, by what its id says."""
    if model_id.startswith("arn:"):
        if _arn_parts(model_id, key)[3] != region:
            raise ConfigError(key, model_id, f"in the region of the stack, {region}")
        model_id = _arn_parts(model_id, key)[5].partition("/")[2]
    profile = re.fullmatch(GEOGRAPHY, model_id)
    if not profile:
        return
    geography = profile["geography"]
    starts = SOURCES.get(geography, ("",))
    if not region.startswith(starts) or (geography == "global" and region.startswith(NOT_COMMERCIAL)):
        raise ConfigError(key, model_id, f"a profile that {region} can call: {geography}. is for other regions")


def _profile(arn: str, model: str, place: Place) -> list[Statement]:
    anywhere = [place.arn("foundation-model", model, region="*", account="")]
    if ":application-inference-profile/" in arn or ":inference-profile/global." in arn:
        # A global profile also asks for the model without a region.
        anywhere.append(place.arn("foundation-model", model, region="", account=""))
    through_profile = {"StringEquals": {"bedrock:InferenceProfileArn": arn}}
    return [_allow([arn]), {**_allow(anywhere), "Condition": through_profile}]


def _allow(resources: list[str]) -> Statement:
    return {"Effect": "Allow", "Action": INVOKE, "Resource": resources}


def _arn_parts(arn: str, key: str) -> list[str]:
    parts = arn.split(":", 5)
    if len(parts) != 6 or parts[2] != "bedrock":
        raise ConfigError(key, arn, "an ARN of Bedrock")
    return parts
