"""The dashboard: how the agent is doing, at a glance and from top to bottom."""

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.config import Config
from infra.metrics import AgentMetrics
from infra.queries import SESSIONS, TOOLS_TABLE

# CloudWatch lays widgets on a grid of 24 columns.
FULL, HALF, THIRD = 24, 12, 8


class Dashboard(Construct):
    """One dashboard: alarms, turns, latency, steps, tokens and cost, tools, sessions, DynamoDB."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        metrics: AgentMetrics,
        *,
        alarms: list[cloudwatch.Alarm],
        table: dynamodb.ITable,
        group: logs.LogGroup,
    ) -> None:
        super().__init__(scope, construct_id)
        # Inherited, so that each graph keeps its own period: else a day's cost would be added up over some minutes.
        dashboard = cloudwatch.Dashboard(
            self,
            "Dashboard",
            default_interval=cdk.Duration.days(7),
            period_override=cloudwatch.PeriodOverride.INHERIT,
        )
        dashboard.add_widgets(
            cloudwatch.AlarmStatusWidget(title=f"{config.name}: alarms", alarms=list(alarms), width=FULL, height=3)
        )
        dashboard.add_widgets(*_turns(metrics))
        dashboard.add_widgets(*_tokens(metrics))
        dashboard.add_widgets(*_tools(metrics, group))
        dashboard.add_widgets(*_storage(table, group))


def _turns(metrics: AgentMetrics) -> list[cloudwatch.IWidget]:
    return [
        _graph("Turns", *map(metrics.of, ("Turns", "Failures", "ModelThrottled", "RaisedErrors"))),
        _graph("Latency, ms", *(metrics.of("Duration", statistic=percentile) for percentile in ("p50", "p95"))),
        _graph("Steps a turn", metrics.computed("steps / turns", "steps a turn", steps="Steps", turns="Turns")),
    ]


def _tokens(metrics: AgentMetrics) -> list[cloudwatch.IWidget]:
    names = ("InputTokens", "OutputTokens", "CacheReadInputTokens", "CacheWriteInputTokens")
    return [
        _graph("Tokens", *map(metrics.of, names), width=HALF),
        _graph("Cost a day, USD", metrics.cost(), width=HALF),
    ]


def _tools(metrics: AgentMetrics, group: logs.LogGroup) -> list[cloudwatch.IWidget]:
    return [
        _graph("Tool uses", metrics.of("ToolUses"), metrics.of("ToolErrors"), width=HALF),
        _query("Tools", TOOLS_TABLE, group, cloudwatch.LogQueryVisualizationType.TABLE),
    ]


def _storage(table: dynamodb.ITable, group: logs.LogGroup) -> list[cloudwatch.IWidget]:
    return [
        _query("Sessions an hour", SESSIONS, group, cloudwatch.LogQueryVisualizationType.BAR),
        _graph(
            "DynamoDB capacity units",
            table.metric_consumed_read_capacity_units(),
            table.metric_consumed_write_capacity_units(),
            width=HALF,
        ),
    ]


def _graph(title: str, *metrics: cloudwatch.IMetric, width: int = THIRD) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=width)


def _query(
    title: str, lines: tuple[str, ...], group: logs.LogGroup, view: cloudwatch.LogQueryVisualizationType
) -> cloudwatch.LogQueryWidget:
    return cloudwatch.LogQueryWidget(
        title=title, log_group_names=[group.log_group_name], query_lines=list(lines), view=view, width=HALF
    )
