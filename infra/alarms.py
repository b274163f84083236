"""The alarms: what a person should look at before the users tell.

Over HTTP the function returns its failures, so that Lambda's own `Errors` stays 0 there: the function's metric `Failures` and the
API's 5xx tell of them. Directly invoked it raises them, session_busy and the like included: `Errors` without what was
raised on purpose are crashes, time-outs and failed starts.

A metric that has no value in a period leaves the whole formula without one; SUM over a list takes those that there are. So what
may be missing while the other counts (no turn ended, nothing was raised) stands in such a list.
"""

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.api import AgentApi, gateway_seconds
from infra.config import Config
from infra.function import AgentFunction
from infra.metrics import DAY, FIVE_MINUTES, AgentMetrics, formula, percent
from infra.rest_api import AgentRestApi

QUARTER = cdk.Duration.minutes(15)
# Nearer than this to its end, turns are about to be cut.
TIME_PERCENT = 90
# Three failures that are a twentieth of all: an outage is seen at a few requests an hour, and a bad minute isn't at many.
FAILURES_THAT_COUNT, FAILURE_PERCENT = 3, 5
# Fewer than this say nothing about a rate.
TOOL_ERRORS_THAT_COUNT, TOOL_ERROR_PERCENT = 3, 20
# A throttled call or two is what retries are for.
THROTTLED_MODEL_CALLS = 5
NOBODY = "alarms tell nobody: alarm_email or alarm_topic says whom"


class Alarms(Construct):
    """All alarms of the stack, in `alarms`; they tell `topic`: the configuration's, or one of ours that sends e-mail."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        config: Config,
        function: AgentFunction,
        api: AgentApi | AgentRestApi,
        metrics: AgentMetrics,
    ) -> None:
        super().__init__(scope, construct_id)
        self.alarms: list[cloudwatch.Alarm] = []
        self.topic = self._topic(config)
        self._watch_function(config, function, metrics)
        self._watch_api(config, api)
        self._watch_turns(config, metrics)

    def _watch_function(self, config: Config, function: AgentFunction, metrics: AgentMetrics) -> None:
        less = metrics.computed("0 - raised", "raised on purpose", raised="RaisedErrors")
        errors = function.function.metric_errors()
        crashes = formula("SUM([errors, less])", "crashes", FIVE_MINUTES, errors=errors, less=less)
        self._add("Crashes", crashes, 1, "an invocation crashed, ran out of time or memory, or could not start")
        self._add("Throttles", function.function.metric_throttles(), 1, "Lambda refused an invocation")
        near = TIME_PERCENT * config.timeout_seconds * 10
        duration = function.function.metric_duration(statistic="p95")
        self._add("Duration", duration, near, f"p95 above {TIME_PERCENT} % of the time-out", periods=3)
        failed = function.failures.metric_approximate_number_of_messages_visible()
        self._add("FailedAsync", failed, 1, "asynchronous invocations failed to the last: see the failure queue")

    def _watch_api(self, config: Config, api: AgentApi | AgentRestApi) -> None:
        errors, count = api.api.metric_server_error(), api.api.metric_count()
        rate = percent("errors", "count", FAILURES_THAT_COUNT)
        server_errors = formula(rate, "5xx %", QUARTER, errors=errors, count=count)
        self._add("ServerErrors", server_errors, FAILURE_PERCENT, "the API answers with 5xx")
        near = TIME_PERCENT * gateway_seconds(config) * 10
        latency = api.api.metric_latency(statistic="p95")
        self._add("Latency", latency, near, f"p95 above {TIME_PERCENT} % of what the API waits", periods=3)

    def _watch_turns(self, config: Config, metrics: AgentMetrics) -> None:
        rate = percent("failures", "SUM([failures, turns])", FAILURES_THAT_COUNT)
        failures = metrics.computed(rate, "failures %", QUARTER, failures="Failures", turns="Turns")
        self._add(
            "Failures", failures, FAILURE_PERCENT, "requests fail: the log says why, in the lines `request failed`"
        )
        rate = percent("errors", "uses", TOOL_ERRORS_THAT_COUNT)
        tool_errors = metrics.computed(rate, "tool errors %", errors="ToolErrors", uses="ToolUses")
        self._add("ToolErrors", tool_errors, TOOL_ERROR_PERCENT, "too many tool uses fail", periods=2)
        throttled = metrics.of("ModelThrottled")
        self._add("ModelThrottled", throttled, THROTTLED_MODEL_CALLS, "Bedrock refuses calls: see the model's quotas")
        if config.alarm_tokens_per_day is not None:
            names = {"i": "InputTokens", "o": "OutputTokens", "r": "CacheReadInputTokens", "w": "CacheWriteInputTokens"}
            tokens = metrics.computed(" + ".join(names), "tokens", DAY, **names)
            told = "more tokens in a day than alarm_tokens_per_day"
            self._add("Tokens", tokens, config.alarm_tokens_per_day, told)

    def _topic(self, config: Config) -> sns.ITopic | None:
        if config.alarm_topic:
            return sns.Topic.from_topic_arn(self, "Topic", config.alarm_topic)
        if config.alarm_email:
            topic = sns.Topic(self, "Topic", enforce_ssl=True)
            topic.add_subscription(subscriptions.EmailSubscription(config.alarm_email))
            return topic
        cdk.Annotations.of(self).add_warning_v2("agent:alarms-tell-nobody", NOBODY)
        return None

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
        if self.topic:
            alarm.add_alarm_action(actions.SnsAction(self.topic))
            alarm.add_ok_action(actions.SnsAction(self.topic))
        self.alarms.append(alarm)
