"""Every region that has what the stack needs is taken, with a model that it has; cfn-lint knows what each one lacks."""

from datetime import date, timedelta

import pytest
from cfnlint.helpers import REGIONS  # type: ignore[import-untyped]
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-untyped]

from infra.choices import ConfigError
from infra.context import from_context
from infra.default_model import MODEL, PROMISED_UNTIL, default_model, promise_ended
from infra.permissions import NOT_COMMERCIAL, check_region
from infra.regions import MISSING, lacks_bedrock

GOVERNMENT = [region for region in REGIONS if region.startswith("us-gov-")]
COMMERCIAL = [region for region in REGIONS if not region.startswith(NOT_COMMERCIAL)]


def test_there_are_as_many_regions_as_cfn_lint_knows() -> None:
    assert len(GOVERNMENT) == 2
    assert len(COMMERCIAL) > 30


@pytest.mark.parametrize("region", GOVERNMENT + COMMERCIAL)
def test_the_default_model_can_be_called_from_every_commercial_and_government_region(region: str) -> None:
    check_region(default_model(region), region)
    assert from_context({}, region).model_id == default_model(region)


def test_a_model_that_was_chosen_stays_in_every_region() -> None:
    chosen = {"model_id": "amazon.nova-lite-v1:0"}
    assert from_context(chosen, "us-gov-west-1").model_id == from_context(chosen).model_id


@pytest.mark.parametrize("kind", MISSING)
def test_what_a_region_lacks_is_what_cloudformation_lacks_there(kind: str) -> None:
    key, regions = MISSING[kind]
    lacking = [
        region for region in GOVERNMENT + COMMERCIAL if kind not in PROVIDER_SCHEMA_MANAGER.get_resource_types(region)
    ]
    assert sorted(regions) == sorted(lacking)
    chosen = {key: "create" if key == "test_events" else True}
    from_context(chosen, "us-east-1")
    for region in regions:
        with pytest.raises(ConfigError, match=f"^{key} is .*in {region}, which has no such thing"):
            from_context(chosen, region)


def test_a_region_without_bedrock_is_told_but_not_refused() -> None:
    assert "ap-east-1" in lacks_bedrock("ap-east-1")
    assert not lacks_bedrock("us-east-1")
    from_context({}, "ap-east-1")


def test_the_default_model_is_promised_for_half_a_year_from_when_it_was_chosen() -> None:
    assert date(2026, 12, 1) + timedelta(days=183) <= PROMISED_UNTIL


def test_a_promise_that_ended_is_told_for_the_default_model_alone() -> None:
    after = PROMISED_UNTIL + timedelta(days=1)
    assert str(PROMISED_UNTIL) in promise_ended(f"us.{MODEL}", after)
    assert not promise_ended(f"us.{MODEL}", PROMISED_UNTIL)
    assert not promise_ended("amazon.nova-lite-v1:0", after)


def test_the_synth_says_that_a_promise_ended_and_that_a_region_has_no_bedrock() -> None:
    import aws_cdk as cdk

    from infra.stack import AgentStack

    app = cdk.App(context={"aws:cdk:bundling-stacks": []})
    place = cdk.Environment(account="123456789012", region="ap-east-1")
    stack = AgentStack(app, from_context({}, "ap-east-1"), env=place, today=PROMISED_UNTIL + timedelta(days=1))
    told = " ".join(str(entry.data) for entry in stack.node.metadata)
    assert f"promised {MODEL} until {PROMISED_UNTIL}" in told
    assert "was not offered in ap-east-1" in told
