"""The stack: composes the constructs and grants each what it needs."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.acknowledgements import acknowledge_findings
from infra.alarms import Alarms
from infra.api import AgentApi
from infra.bundling import function_bundle, function_code
from infra.config import Config
from infra.dashboard import Dashboard
from infra.function import AgentFunction
from infra.metrics import AgentMetrics
from infra.outputs import add_outputs
from infra.permissions import Place, check_region, guardrail_statements, model_statements
from infra.queries import SavedQueries
from infra.session_table import SessionTable
from infra.test_events import ConsoleEvents
from infra.tool_needs import TOOL_NEEDS, ToolNeeds, needs_of


class AgentStack(cdk.Stack):
    """All of one deployment. Raises ConfigError for choices that don't fit its region or this machine, and BundleError."""

    def __init__(
        self,
        scope: Construct,
        config: Config,
        *,
        env: cdk.Environment | None = None,
        tool_needs: Mapping[str, ToolNeeds] = TOOL_NEEDS,
    ) -> None:
        super().__init__(scope, config.name, env=env, description="An agent on Lambda: Bedrock tool use with sessions")
        needs = needs_of(config.tools, tool_needs)
        sessions = SessionTable(self, "Sessions", config)
        bundle = function_bundle(config, [service for need in needs for service in need.services])
        agent = AgentFunction(
            self,
            "Agent",
            config,
            code=function_code(self, bundle),
            environment=_environment(config, sessions, needs),
        )
        sessions.grant(agent.role)
        wildcards = self._grant_model(config, agent.role)
        self._grant_tools(needs, agent.role)
        api = AgentApi(self, "Api", config, agent.target)
        self._watch(config, sessions, agent)
        if config.test_events != "off":
            ConsoleEvents(self, "TestEvents", agent.function, create_registry=config.test_events == "create")
        add_outputs(self, config, sessions, agent, api)
        acknowledge_findings(
            config,
            role=agent.role,
            function=agent.function,
            queue=agent.failures,
            # Only where strangers are let in: on this one route, or on the whole API.
            api=api if config.auth == "none" else api.public_route,
            wildcards=wildcards,
        )

    def _grant_model(self, config: Config, role: iam.Role) -> list[str]:
        """Returns the resources that hold a wildcard."""
        place = Place(self.partition, self.region, self.account)
        if not cdk.Token.is_unresolved(self.region):
            check_region(config.model_id, self.region)
        model = config.application_profile_model
        statements = model_statements(config.model_id, place, application_profile_model=model)
        if config.guardrail_id:
            statements += guardrail_statements(config.guardrail_id, place)
        for statement in statements:
            role.add_to_policy(iam.PolicyStatement.from_json(statement))
        return [resource for statement in statements for resource in statement["Resource"] if "*" in resource]

    def _grant_tools(self, needs: list[ToolNeeds], role: iam.Role) -> None:
        for need in needs:
            for statement in need.statements:
                role.add_to_policy(iam.PolicyStatement.from_json(statement))
            for variable, name in need.secrets.items():
                secret = secretsmanager.Secret.from_secret_name_v2(self, f"Secret{variable}", name)
                secret.grant_read(role)

    def _watch(self, config: Config, sessions: SessionTable, agent: AgentFunction) -> None:
        metrics = AgentMetrics(config)
        alarms = Alarms(self, "Alarms", config, agent, metrics).alarms
        Dashboard(self, "Dashboard", config, metrics, alarms=alarms, table=sessions.table, group=agent.logs)
        SavedQueries(self, "Queries", config, agent.logs)


def _environment(config: Config, sessions: SessionTable, needs: list[ToolNeeds]) -> dict[str, str]:
    variables = {
        "TABLE_NAME": sessions.table.table_name,
        "POWERTOOLS_SERVICE_NAME": config.name,
        "POWERTOOLS_METRICS_NAMESPACE": config.name,
    }
    for need in needs:
        variables |= {**need.environment, **need.secrets}
    return variables | config.environment()
