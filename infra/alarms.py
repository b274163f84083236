"""The alarms: what a person should look at before the users tell."""

from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.config import Config
from infra.function import AgentFunction
from infra.metrics import DAY, AgentMetrics

# Nearer than this to its time-out, turns are about to be cut.
DURATION_SHARE = 0.8
TOOL_ERROR_PERCENT = 20
# Fewer tool uses than this say nothing about a rate.
TOOL_USES_THAT_COUNT = 10
# A throttled call or two is what retries are for.
THROTTLED_MODEL_CALLS = 5
# "Limits" of alarms in the CloudWatch User Guide; several models have metrics of their own.
METRICS_OF_AN_ALARM = 10
CACHED = {"r": "CacheReadInputTokens", "w": "CacheWriteInputTokens"}


class Alarms(Construct):
    """All alarms of the stack, in `alarms`; they tell the SNS topic that the configuration names."""

    def __init__(
        self, scope: Construct, construct_id: str, config: Config, function: AgentFunction, metrics: AgentMetrics
    ) -> None:
        super().__init__(scope, construct_id)
        self.alarms: list[cloudwatch.Alarm] = []
        self._topic = sns.Topic.from_topic_arn(self, "Topic", config.alarm_topic) if config.alarm_topic else None
        self._add("Errors", function.function.metric_errors(), 1, "an invocation failed")
        self._add("Throttles", function.function.metric_throttles(), 1, "Lambda refused an invocation")
        near = DURATION_SHARE * config.timeout_seconds * 1000
        duration = function.function.metric_duration(statistic="p95")
        self._add("Duration", duration, near, f"p95 above {DURATION_SHARE:.0%} of the time-out", periods=3)
        tool_errors = metrics.computed(
            f"IF(uses >= {TOOL_USES_THAT_COUNT}, 100 * FILL(errors, 0) / uses, 0)",
            "tool errors %",
            errors="ToolErrors",
            uses="ToolUses",
        )
        self._add("ToolErrors", tool_errors, TOOL_ERROR_PERCENT, "too many tool uses fail", periods=2)
        throttled = metrics.total("ModelThrottled")
        self._add("ModelThrottled", throttled, THROTTLED_MODEL_CALLS, "Bedrock refuses calls: see the model's quotas")
        failed = function.failures.metric_approximate_number_of_messages_visible()
        self._add("FailedAsync", failed, 1, "asynchronous invocations failed to the last: see the failure queue")
        if config.alarm_tokens_per_day is not None:
            names = {"i": "InputTokens", "o": "OutputTokens"}
            told = "more tokens in a day than alarm_tokens_per_day"
            if (len(names) + len(CACHED)) * len(config.model_ids) <= METRICS_OF_AN_ALARM:
                names |= CACHED
            else:
                told += ", cached ones not counted"
            tokens = metrics.computed(" + ".join(f"FILL({name}, 0)" for name in names), "tokens", DAY, **names)
            self._add("Tokens", tokens, config.alarm_tokens_per_day, told)

    def _add(self, name: str, metric: cloudwatch.IMetric, threshold: float, description: str, periods: int = 1) -> None:
        alarm = cloudwatch.Alarm(
            self,
            name,
            metric=metric,
            threshold=threshold,
            evaluation_periods=periods,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=description,
        )
        if self._topic:
            alarm.add_alarm_action(actions.SnsAction(self._topic))
            alarm.add_ok_action(actions.SnsAction(self._topic))
        self.alarms.append(alarm)
