"""A stack as its template, and what the security rules and the CDK said about it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from infra.context import from_context
from infra.feature_flags import FEATURE_FLAGS
from infra.stack import AgentStack

ACCOUNT = "123456789012"
# What the user's folder holds is not the engine's to know.
TRIAL = Path(__file__).parents[1] / "own" / "trial"
MODEL = "anthropic.claude-haiku-4-5-20251001-v1:0"
KEY = "arn:aws:kms:us-east-1:123456789012:key/12345678-1234-1234-1234-123456789012"
OTHER_KEY = KEY.replace("-1234-", "-5678-")
# Choices that tests share: as much as goes together, another model endpoint, tokens.
EVERYTHING: dict[str, Any] = {
    "auth": "none",
    "tracing": False,
    "kms_key": "create",
    "snapstart": True,
    "function_url": True,
    "cors_origins": "https://example.com",
    "reserved_concurrency": 5,
    "alarm_topic": "arn:aws:sns:us-east-1:123456789012:alarms",
    "approval_topic": "arn:aws:sns:us-east-1:123456789012:approvals",
    "guardrail_kms_key": KEY,
    "secret_kms_key": OTHER_KEY,
    "guardrail_id": "abc123",
    "guardrail_version": "1",
    "model_id": "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123",
    "fallback_model_ids": f"global.{MODEL},us.{MODEL},amazon.nova-lite-v1:0,amazon.nova-micro-v1:0",
    "test_events": "create",
    "retain_sessions": True,
    "deletion_protection": True,
    "tags": {"team": "support", "cost-center": "42"},
}
ENDPOINT: dict[str, Any] = {
    "model_provider": "openai",
    "model_id": "qwen2.5:7b",
    "openai_base_url": "https://models.example.com/v1",
    "alarm_email": "operator@example.com",
    "session_table": "agent-SessionsTable-1234",
    "openai_api_key_secret": "models/key",
}
TOKENS: dict[str, Any] = {
    "auth": "jwt",
    "jwt_issuer": "https://example.com/",
    "jwt_audience": "agents",
    "jwt_scopes": "ask,answer",
    "kms_key": KEY,
    "fallback_model_ids": "amazon.nova-lite-v1:0",
    "architecture": "x86_64",
    "memory_mb": 2048,
    "timeout_seconds": 300,
    "log_retention_days": 7,
    "api_requests_per_second": 3,
    "api_burst": 4,
    "alarm_tokens_per_day": 1000,
    "http_timeout_seconds": 20,
}

STREAMS: dict[str, Any] = {"api": "rest", "streaming": True, "function_url": True, "timeout_seconds": 600}
POOL_TOKENS: dict[str, Any] = {
    "api": "rest",
    "auth": "jwt",
    "jwt_issuer": "https://cognito-idp.us-east-1.amazonaws.com/us-east-1_AbCdEf123",
    "jwt_audience": "client",
    "cors_origins": "https://example.com",
}
UNWATCHED = {
    "name": "mine",
    "alarm_tokens_per_day": None,
    "price_input": 3,
    "price_output": 15,
    "price_cache_read": 0.3,
    "price_cache_write": 3.75,
}


@dataclass(frozen=True)
class Synthesis:
    """What came of one synth."""

    template: dict[str, Any]
    # Rules of cdk-nag that were acknowledged (one that is violated stops the synth), and the CDK's own warnings.
    acknowledged: list[str]
    warnings: list[str]
    # The stack's own tags and protection, from the manifest, and what the CDK notes beside it, as text.
    manifest: dict[str, Any]
    notes: str

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """Logical id -> properties of the resources of a type, given without its "AWS::"."""
        found = self.template["Resources"].items()
        return {name: item.get("Properties", {}) for name, item in found if item["Type"] == f"AWS::{kind}"}

    def resource(self, kind: str) -> dict[str, Any]:
        """The properties of the one resource of a type."""
        [properties] = self.resources(kind).values()
        return properties

    def statements(self) -> list[dict[str, Any]]:
        """All statements of the function's role."""
        assert not [role for role in self.resources("IAM::Role").values() if "ManagedPolicyArns" in role]
        policies = self.resources("IAM::Policy").values()
        return [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]

    def allowed(self, service: str) -> list[dict[str, Any]]:
        """The statements that allow actions of a service, with actions and resources as lists."""

        def listed(value: Any) -> list[Any]:
            return value if isinstance(value, list) else [value]

        found = [
            {**statement, "Action": listed(statement["Action"]), "Resource": listed(statement["Resource"])}
            for statement in self.statements()
        ]
        return [item for item in found if any(action.startswith(f"{service}:") for action in item["Action"])]

    def environment(self) -> dict[str, Any]:
        """The function's environment."""
        variables: dict[str, Any] = self.resource("Lambda::Function")["Environment"]["Variables"]
        return variables


def dashboard(stack: Synthesis) -> str:
    body = stack.resource("CloudWatch::Dashboard")["DashboardBody"]
    return "".join(part if isinstance(part, str) else "TOKEN" for part in body["Fn::Join"][1])


def context(**choices: object) -> dict[str, Any]:
    """A context with these choices; the rest are the defaults, whatever cdk.json says."""
    return {**FEATURE_FLAGS, **choices}


def synthesis(
    folder: Path,
    region: str,
    choices: Mapping[str, object],
    own: Path = TRIAL,
    extend: Sequence[Callable[[AgentStack], None]] = (),
) -> Synthesis:
    """Synthesises the stack and what is added to it into a folder, without bundling, under the rule packs of cdk-nag."""
    chosen = context(**choices)
    app = cdk.App(context={**chosen, "aws:cdk:bundling-stacks": []}, outdir=str(folder))
    stack = AgentStack(
        app,
        from_context(chosen),
        env=cdk.Environment(account=ACCOUNT, region=region),
        own=own,
    )
    for add in extend:
        add(stack)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    app.synth()
    report = json.loads((folder / "validation-report.json").read_text())["pluginReports"]
    annotations = [plugin for plugin in report if plugin["pluginName"] == "Construct Annotations"]
    nag = [plugin for plugin in report if plugin["pluginName"] in {"AwsSolutions", "Serverless"}]
    assert len(nag) == 2
    manifest = json.loads((folder / "manifest.json").read_text())["artifacts"][stack.stack_name]
    return Synthesis(
        template=json.loads((folder / f"{stack.stack_name}.template.json").read_text()),
        acknowledged=_rules(nag, "suppressedViolations"),
        warnings=_rules(annotations, "violations"),
        manifest=manifest,
        notes=(folder / manifest["additionalMetadataFile"]).read_text(),
    )


def _rules(plugins: list[dict[str, Any]], kind: str) -> list[str]:
    return [violation["ruleName"] for plugin in plugins for violation in plugin.get(kind, [])]
