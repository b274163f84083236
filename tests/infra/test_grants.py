"""What the function's role may do: call its models, use the one table, read the secrets it needs, and nothing else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.choices import ConfigError
from tests.infra.synthesis import ENDPOINT, EVERYTHING, MODEL, TOKENS, Synthesis, synthesis

Synthesise = Callable[..., Synthesis]
REGIONS = {"us-east-1": "us.", "eu-central-1": "eu.", "ap-northeast-1": "jp."}


def model_grants(stack: Synthesis) -> list[tuple[list[str], str | None]]:
    """The Bedrock resources that are granted, and the profile through which, if it must be through one."""
    through = "bedrock:InferenceProfileArn"
    grants = [item for item in stack.allowed("bedrock") if "bedrock:InvokeModel" in item["Action"]]
    return [
        (sorted(item["Resource"]), item.get("Condition", {}).get("StringEquals", {}).get(through)) for item in grants
    ]


@pytest.mark.parametrize("region", REGIONS)
def test_the_function_may_call_its_model_and_each_it_falls_back_to(synthesise: Synthesise, region: str) -> None:
    profile = REGIONS[region] + MODEL
    stack = synthesise(region, model_id=profile, fallback_model_ids=f"amazon.nova-lite-v1:0,global.{MODEL}")
    own = f"arn:aws:bedrock:{region}:123456789012:inference-profile/"
    anywhere = f"arn:aws:bedrock:*::foundation-model/{MODEL}"
    grants = model_grants(stack)
    assert ([anywhere], own + profile) in grants
    assert (sorted([anywhere, f"arn:aws:bedrock:::foundation-model/{MODEL}"]), f"{own}global.{MODEL}") in grants
    unconditional = {arn for arns, through in grants if through is None for arn in arns}
    nova = f"arn:aws:bedrock:{region}::foundation-model/amazon.nova-lite-v1:0"
    assert unconditional == {own + profile, f"{own}global.{MODEL}", nova}
    assert len([grant for grant in grants if grant[1]]) == 2


def test_the_model_behind_an_application_profile_is_any_or_the_named_one(synthesise: Synthesise) -> None:
    profile = EVERYTHING["model_id"]
    named = synthesise(model_id=profile, application_profile_model=MODEL)
    for stack, model in ((synthesise(**EVERYTHING), "*"), (named, MODEL)):
        models = [f"arn:aws:bedrock:*::foundation-model/{model}", f"arn:aws:bedrock:::foundation-model/{model}"]
        assert (sorted(models), profile) in model_grants(stack)


@pytest.mark.parametrize("key", ["model_id", "fallback_model_ids"])
def test_a_profile_of_another_part_of_the_world_stops_the_synth(synthesise: Synthesise, key: str) -> None:
    with pytest.raises(ConfigError, match=f"^{key} is 'us.{MODEL}', but must be a profile that eu-central-1 can call"):
        synthesise("eu-central-1", **{key: f"us.{MODEL}"})


def test_another_endpoint_needs_its_key_and_nothing_of_bedrock(synthesise: Synthesise, stack: Synthesis) -> None:
    chosen = synthesise(**ENDPOINT)
    assert not chosen.allowed("bedrock")
    [statement] = chosen.allowed("secretsmanager")
    assert statement["Action"] == ["secretsmanager:GetSecretValue"]
    assert statement["Resource"] == ["arn:aws:secretsmanager:us-east-1:123456789012:secret:models/key-??????"]
    assert chosen.environment()["OPENAI_API_KEY_SECRET"] == "models/key"
    assert chosen.environment()["OPENAI_BASE_URL"] == "https://models.example.com/v1"
    assert not stack.allowed("secretsmanager")
    assert not {"OPENAI_API_KEY_SECRET", "OPENAI_BASE_URL"} & set(stack.environment())


def test_a_guardrail_is_told_to_the_function_and_granted(synthesise: Synthesise, stack: Synthesis) -> None:
    guarded = synthesise(**EVERYTHING)
    assert guarded.environment()["GUARDRAIL_ID"] == "abc123"
    assert guarded.environment()["GUARDRAIL_VERSION"] == "1"
    [grant] = [item for item in guarded.allowed("bedrock") if "bedrock:ApplyGuardrail" in item["Action"]]
    own = "arn:aws:bedrock:us-east-1:123456789012:guardrail/abc123"
    assert set(grant["Resource"]) == {own, "arn:aws:bedrock:*:123456789012:guardrail-profile/*"}
    assert not [item for item in stack.allowed("bedrock") if "bedrock:ApplyGuardrail" in item["Action"]]


@pytest.mark.parametrize("choices", [{}, EVERYTHING, TOKENS, ENDPOINT])
def test_nothing_is_allowed_on_everything_but_writing_traces(synthesise: Synthesise, choices: dict[str, Any]) -> None:
    for statement in synthesise(**choices).statements():
        resources = statement["Resource"] if isinstance(statement["Resource"], list) else [statement["Resource"]]
        if "*" in resources:
            assert statement["Action"] == ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
        wildcards = [resource for resource in resources if "*" in str(resource) and resource != "*"]
        assert not wildcards or "Condition" in statement or statement["Action"] == "bedrock:ApplyGuardrail"
        assert "*" not in str(statement["Action"])


def test_what_others_encrypted_with_named_keys_may_be_read(synthesise: Synthesise, stack: Synthesis) -> None:
    keys = {EVERYTHING["guardrail_kms_key"], EVERYTHING["secret_kms_key"]}
    [grant] = [item for item in synthesise(**EVERYTHING).allowed("kms") if item["Action"] == ["kms:Decrypt"]]
    assert set(grant["Resource"]) == keys
    assert not stack.allowed("kms")


def test_dynamodb_is_allowed_what_the_function_does_on_the_one_table(stack: Synthesis) -> None:
    [table] = stack.resources("DynamoDB::Table")
    arn = {"Fn::GetAtt": [table, "Arn"]}
    granted = {json.dumps(item["Resource"]): set(item["Action"]) for item in stack.allowed("dynamodb")}
    called = {"Query", "GetItem", "PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"}
    assert granted == {
        json.dumps([arn]): {f"dynamodb:{action}" for action in called},
        json.dumps([{"Fn::Join": ["", [arn, "/index/waiting"]]}]): {"dynamodb:Query", "dynamodb:Scan"},
    }


def test_the_topic_that_is_told_of_approvals_may_be_published_to_and_no_other(
    synthesise: Synthesise, stack: Synthesis
) -> None:
    chosen = synthesise(**EVERYTHING)
    topic = EVERYTHING["approval_topic"]
    [statement] = chosen.allowed("sns")
    assert (statement["Action"], statement["Resource"]) == (["sns:Publish"], [topic])
    assert chosen.environment()["APPROVAL_TOPIC"] == topic
    assert not stack.allowed("sns")
    assert "APPROVAL_TOPIC" not in stack.environment()


DECLARED = """
[environment]
INVOICE_BUCKET = "my-invoices"

[secrets]
INVOICE_KEY = "invoices/key"

[[permissions]]
actions = ["s3:GetObject"]
resources = ["arn:{partition}:s3:::my-invoices/2026"]

[[permissions]]
actions = ["s3:List*"]
resources = ["arn:{partition}:s3:{region}:{account}:accesspoint/*"]
reason = "there is an access point for each customer"
"""


def test_a_tool_gets_what_it_declares_only_where_it_is_offered(tmp_path: Path) -> None:
    own = tmp_path / "my_agent"
    (own / "tools").mkdir(parents=True)
    for name, text in {"invoices.py": "", "invoices.toml": DECLARED, "other.py": ""}.items():
        (own / "tools" / name).write_text(text)
    chosen = synthesis(tmp_path / "chosen", "us-east-1", {}, own)
    assert chosen.environment()["INVOICE_BUCKET"] == "my-invoices"
    assert "INVOICE_KEY" not in chosen.environment()
    plain, wild = chosen.allowed("s3")
    assert plain["Resource"] == ["arn:aws:s3:::my-invoices/2026"]
    assert wild["Resource"] == ["arn:aws:s3:us-east-1:123456789012:accesspoint/*"]
    [secret] = chosen.allowed("secretsmanager")
    assert str(secret["Resource"][0]).endswith("secret:invoices/key-??????")
    other = synthesis(tmp_path / "other", "us-east-1", {"tools": "other"}, own)
    assert not other.allowed("s3") + other.allowed("secretsmanager")
    assert "INVOICE_BUCKET" not in other.environment()


def test_an_environment_that_a_tool_makes_too_large_is_told_before_anything_is_bundled(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "orders.py").write_text("")
    (tmp_path / "tools" / "orders.toml").write_text(f'[environment]\nORDERS_RULES = "{"x" * 4000}"\n')
    with pytest.raises(
        ConfigError, match=r"^tools is '\*', but must be with a shorter \[environment\].* Lambda takes 4,096"
    ):
        synthesis(tmp_path / "out", "us-east-1", {}, tmp_path)
