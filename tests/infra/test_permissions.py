"""What the function may call, for each kind of model id."""

import re
from typing import Any

import pytest

from infra.choices import ConfigError
from infra.permissions import Place, check_region, guardrail_statements, model_statements, secret_statements

REGIONS = ["us-east-1", "eu-central-1", "ap-northeast-1"]
ACCOUNT = "123456789012"
MODEL = "anthropic.claude-haiku-4-5-20251001-v1:0"


def place(region: str) -> Place:
    return Place("aws", region, ACCOUNT)


def summary(statements: list[dict[str, Any]]) -> list[tuple[list[str], str | None]]:
    """Each statement's resources, and the profile that its condition asks for."""
    for statement in statements:
        assert statement["Effect"] == "Allow"
        assert statement["Action"] == ["bedrock:InvokeModel"]
        assert set(statement.get("Condition", {"StringEquals": 0})) == {"StringEquals"}
    profiles = [
        item.get("Condition", {}).get("StringEquals", {}).get("bedrock:InferenceProfileArn") for item in statements
    ]
    return list(zip([item["Resource"] for item in statements], profiles, strict=True))


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("model", [MODEL, "amazon.nova-lite-v1:0", "deepseek.v3-v1:0", "ai21.jamba-1-5-mini-v1:0"])
def test_a_foundation_model_is_allowed_in_the_region_of_the_stack_only(region: str, model: str) -> None:
    expected = [([f"arn:aws:bedrock:{region}::foundation-model/{model}"], None)]
    assert summary(model_statements(model, place(region))) == expected
    assert summary(model_statements(expected[0][0][0], place(region))) == expected


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("geography", ["us", "us-gov", "eu", "apac", "jp", "au", "ca", "kr"])
@pytest.mark.parametrize("by_arn", [False, True])
def test_a_profile_is_allowed_and_its_model_in_any_region_through_it(region: str, geography: str, by_arn: bool) -> None:
    profile = f"arn:aws:bedrock:{region}:{ACCOUNT}:inference-profile/{geography}.{MODEL}"
    model_id = profile if by_arn else f"{geography}.{MODEL}"
    assert summary(model_statements(model_id, place(region))) == [
        ([profile], None),
        ([f"arn:aws:bedrock:*::foundation-model/{MODEL}"], profile),
    ]


@pytest.mark.parametrize("region", REGIONS)
def test_a_global_profile_also_needs_its_model_without_a_region(region: str) -> None:
    profile = f"arn:aws:bedrock:{region}:{ACCOUNT}:inference-profile/global.{MODEL}"
    models = [f"arn:aws:bedrock:*::foundation-model/{MODEL}", f"arn:aws:bedrock:::foundation-model/{MODEL}"]
    assert summary(model_statements(f"global.{MODEL}", place(region))) == [([profile], None), (models, profile)]


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("named", [None, MODEL])
def test_an_application_profile_allows_any_model_or_the_named_one_through_it(region: str, named: str | None) -> None:
    profile = f"arn:aws:bedrock:{region}:{ACCOUNT}:application-inference-profile/abc123"
    model = named or "*"
    assert summary(model_statements(profile, place(region), application_profile_model=named)) == [
        ([profile], None),
        ([f"arn:aws:bedrock:*::foundation-model/{model}", f"arn:aws:bedrock:::foundation-model/{model}"], profile),
    ]


@pytest.mark.parametrize("kind", ["provisioned-model", "custom-model-deployment", "imported-model"])
def test_a_model_of_ones_own_is_allowed_by_its_arn_alone(kind: str) -> None:
    arn = f"arn:aws:bedrock:us-east-1:{ACCOUNT}:{kind}/abc123"
    assert summary(model_statements(arn, place("us-east-1"))) == [([arn], None)]


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:sagemaker:us-east-1:123456789012:endpoint/mine",
        "arn:aws:bedrock:us-east-1:123456789012:default-prompt-router/x",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/odd",
        "arn:aws:bedrock",
    ],
)
def test_an_arn_that_converse_does_not_take_is_refused(arn: str) -> None:
    with pytest.raises(ConfigError, match=f"^model_id is '{re.escape(arn)}', but must be an ARN of"):
        model_statements(arn, place("us-east-1"))


FITS = [
    ("us", "us-west-2"), ("us", "ca-central-1"), ("eu", "eu-north-1"), ("eu", "il-central-1"), ("apac", "ap-south-1"),
    ("jp", "ap-northeast-3"), ("au", "ap-southeast-4"), ("us-gov", "us-gov-west-1"), ("global", "sa-east-1"),
    ("kr", "ap-northeast-2"),
]  # fmt: skip
MISFITS = [
    ("us", "eu-central-1"), ("us", "us-gov-west-1"), ("eu", "us-east-1"), ("apac", "eu-west-1"), ("jp", "us-east-1"),
    ("au", "ap-northeast-1"), ("us-gov", "us-east-1"), ("global", "us-gov-west-1"), ("global", "cn-north-1"),
    ("global", "eusc-de-east-1"),
]  # fmt: skip


@pytest.mark.parametrize(("geography", "region"), FITS)
def test_a_profile_fits_the_regions_it_can_be_called_from(geography: str, region: str) -> None:
    check_region(f"{geography}.{MODEL}", region)


@pytest.mark.parametrize(("geography", "region"), MISFITS)
def test_a_profile_that_cannot_fit_the_region_is_refused(geography: str, region: str) -> None:
    with pytest.raises(ConfigError, match=f"profile that {region} can call"):
        check_region(f"{geography}.{MODEL}", region)


def test_an_arn_of_another_region_is_refused() -> None:
    arn = f"arn:aws:bedrock:eu-west-1:{ACCOUNT}:application-inference-profile/abc123"
    check_region(arn, "eu-west-1")
    with pytest.raises(ConfigError, match="in the region of the stack, us-east-1"):
        check_region(arn, "us-east-1")


def test_a_guardrail_is_allowed_by_its_id_or_its_arn_and_through_any_regions_guardrail_profiles() -> None:
    arn = f"arn:aws:bedrock:us-east-1:{ACCOUNT}:guardrail/abc123"
    profiles = f"arn:aws:bedrock:*:{ACCOUNT}:guardrail-profile/*"
    expected = [{"Effect": "Allow", "Action": ["bedrock:ApplyGuardrail"], "Resource": [arn, profiles]}]
    assert guardrail_statements("abc123", place("us-east-1")) == expected
    assert guardrail_statements(arn, place("us-east-1")) == expected


def test_a_secret_may_be_read_and_no_other() -> None:
    arn = f"arn:aws:secretsmanager:us-east-1:{ACCOUNT}:secret:models/key-??????"
    expected = {"Effect": "Allow", "Action": ["secretsmanager:GetSecretValue"], "Resource": [arn]}
    assert secret_statements("models/key", place("us-east-1")) == [expected]
    whole = arn.replace("??????", "a1B2c3")
    assert secret_statements(whole, place("us-east-1")) == [{**expected, "Resource": [whole]}]


@pytest.mark.parametrize(
    "model_id", [f"us.{MODEL}", f"arn:aws:bedrock:us-east-1:{ACCOUNT}:provisioned-model/x", "arn:x"]
)
def test_a_model_that_does_not_fit_is_told_under_the_key_it_came_from(model_id: str) -> None:
    with pytest.raises(ConfigError, match=r"^fallback_model_ids is "):
        check_region(model_id, "eu-west-1", key="fallback_model_ids")
