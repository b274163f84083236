"""The stack: composes the constructs and grants each what it needs."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.acknowledgements import GUARDRAIL, REGIONS, acknowledge_findings
from infra.alarms import Alarms
from infra.api import AgentApi
from infra.bundling import OWN, function_bundle, function_code, offered_modules
from infra.checks import in_region, too_large
from infra.choices import ConfigError, ConfigErrors
from infra.config import SETTINGS, Config
from infra.dashboard import Dashboard
from infra.declared import Declared, declared
from infra.default_model import default_model, promise_ended
from infra.function import AgentFunction
from infra.loading import check_loading
from infra.metrics import AgentMetrics
from infra.outputs import add_outputs
from infra.permissions import (
    Place,
    Statement,
    guardrail_statements,
    key_statements,
    model_statements,
    secret_statements,
    with_streams,
)
from infra.queries import SavedQueries
from infra.regions import lacks_bedrock
from infra.rest_api import AgentRestApi
from infra.session_table import SessionTable
from infra.test_events import ConsoleEvents

# For what needs a region where the stack's is not known yet.
SOME_REGION = "us-east-1"


class AgentStack(cdk.Stack):
    """All of one deployment; its parts are attributes, for what app.py adds.

    Raises ConfigError for choices that don't fit its region or this machine, and BundleError.
    """

    def __init__(
        self,
        scope: Construct,
        config: Config,
        *,
        env: cdk.Environment | None = None,
        own: Path = OWN,
        today: date | None = None,
    ) -> None:
        tags = {"application": config.name, **(config.tags or {})}
        super().__init__(
            scope,
            config.name,
            env=env,
            description="An agent on Lambda: Bedrock tool use with sessions",
            termination_protection=config.deletion_protection,
            tags=tags,
        )
        for name, text in tags.items():
            cdk.Tags.of(self).add(name, text)
        config = self._with_model(config)
        self._look_ahead(config, today or datetime.now(UTC).date())
        needs = declared(offered_modules(config.tools, own), SETTINGS).values()
        sessions = SessionTable(self, "Sessions", config)
        bundle, variables = function_bundle(config, own=own), _environment(config, sessions, needs)
        if self.bundling_required:
            check_loading(bundle, _plain(variables), name=config.name, region=self._known_region or SOME_REGION)
        code = function_code(self, bundle)
        agent = AgentFunction(self, "Agent", config, code=code, environment=variables, key=sessions.key)
        sessions.grant(agent.role)
        wildcards = {**self._grant_model(config, agent.role), **self._grant_tools(needs, agent.role)}
        make = AgentRestApi if config.api == "rest" else AgentApi
        api: AgentApi | AgentRestApi = make(self, "Api", config, agent.target, sessions.key)
        # What app.py may build on.
        self.config, self.function, self.role, self.target = config, agent.function, agent.role, agent.target
        self.api, self.table, self.key, self.failures = api.api, sessions.table, sessions.key, agent.failures
        alarms = self._watch(config, sessions, agent, api)
        if config.test_events != "off":
            ConsoleEvents(self, "TestEvents", agent.function)
        add_outputs(self, config, sessions, agent, api)
        acknowledge_findings(
            config,
            role=agent.role,
            function=agent.function,
            queue=agent.failures,
            # Only where strangers are let in: on this one route, or on the whole API.
            api=api if config.auth == "none" else api.public_route,
            alarms=alarms,
            wildcards=wildcards,
            rest=api if isinstance(api, AgentRestApi) else None,
        )

    def _with_model(self, config: Config) -> Config:
        """The choices with the default model of this region, where no other was chosen."""
        is_default = config.model_id == default_model(None)
        return replace(config, model_id=default_model(self._known_region)) if is_default else config

    @property
    def _known_region(self) -> str | None:
        return None if cdk.Token.is_unresolved(self.region) else self.region

    def _look_ahead(self, config: Config, today: date) -> None:
        """Stops, or warns, before anything is bundled."""
        if self._known_region is None:
            return
        if wrong := list(in_region(config, self._known_region)):
            raise ConfigErrors(wrong)
        sentences = {"agent:end-of-life": promise_ended(config.model_id, today)}
        if config.model_provider == "bedrock":
            sentences["agent:no-bedrock"] = lacks_bedrock(self.region)
        for name, sentence in sentences.items():
            if sentence:
                cdk.Annotations.of(self).add_warning_v2(name, sentence)

    def _grant_model(self, config: Config, role: iam.Role) -> dict[str, str]:
        """Returns the wildcards, each with the reason for it."""
        place = Place(self.partition, self.region, self.account)
        statements = _bedrock_statements(config, place) if config.model_provider == "bedrock" else []
        if config.approval_topic:
            role.add_to_principal_policy(
                iam.PolicyStatement(actions=["sns:Publish"], resources=[config.approval_topic])
            )
        if config.openai_api_key_secret:
            statements += secret_statements(config.openai_api_key_secret, place)
        statements += key_statements(config.secret_kms_key, config.guardrail_kms_key)
        for statement in statements:
            role.add_to_policy(iam.PolicyStatement.from_json(statement))
        resources = [resource for statement in statements for resource in statement["Resource"] if "*" in resource]
        return {f"Resource::{each}": GUARDRAIL if ":guardrail-profile/" in each else REGIONS for each in resources}

    def _grant_tools(self, needs: Iterable[Declared], role: iam.Role) -> dict[str, str]:
        """As above, for what the tools declare."""
        place, wildcards = Place(self.partition, self.region, self.account), dict[str, str]()
        for each in needs:
            for statement in each.statements(place):
                role.add_to_policy(iam.PolicyStatement.from_json(statement))
            wildcards |= each.wildcards(place)
        return wildcards

    def _watch(
        self, config: Config, sessions: SessionTable, agent: AgentFunction, api: AgentApi | AgentRestApi
    ) -> Alarms:
        metrics = AgentMetrics(config)
        alarms = Alarms(self, "Alarms", config, agent, api, metrics)
        self.alarms, self.topic = alarms.alarms, alarms.topic
        Dashboard(self, "Dashboard", config, metrics, alarms=alarms.alarms, table=sessions.table, group=agent.logs)
        SavedQueries(self, "Queries", config, agent.logs)
        return alarms


def _bedrock_statements(config: Config, place: Place) -> list[Statement]:
    """For each model and the guardrail."""
    statements: list[Statement] = []
    for model_id in config.model_ids:
        key = "model_id" if model_id == config.model_id else "fallback_model_ids"
        behind = config.application_profile_model if model_id == config.model_id else None
        statements += model_statements(model_id, place, application_profile_model=behind, key=key)
    statements = with_streams(statements) if config.streaming else statements
    return statements + (guardrail_statements(config.guardrail_id, place) if config.guardrail_id else [])


def _environment(config: Config, sessions: SessionTable, needs: Iterable[Declared]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for need in needs:
        variables |= need.environment
    variables |= config.environment()
    if told := too_large(variables, config.name):
        raise ConfigError(
            "tools", ",".join(config.tools or ("*",)), f"with a shorter [environment] in their .toml: {told}"
        )
    return {"TABLE_NAME": sessions.table.table_name, **variables}


def _plain(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment before anything is there: what only a deployment tells has a stand-in."""
    return {name: "unknown" if cdk.Token.is_unresolved(value) else value for name, value in environment.items()}
