"""The numbers that the stack watches: the function's own metrics and what they add up to."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.config import Config

DAY = cdk.Duration.days(1)
FIVE_MINUTES = cdk.Duration.minutes(5)


@dataclass(frozen=True)
class AgentMetrics:
    """Metrics that the function writes, with the service as their one dimension: models are told apart in the log."""

    config: Config

    def of(
        self, name: str, period: cdk.Duration = FIVE_MINUTES, statistic: str = cloudwatch.Stats.SUM
    ) -> cloudwatch.Metric:
        """One metric of the function, over each period and by a statistic."""
        return cloudwatch.Metric(
            namespace=self.config.name,
            metric_name=name,
            dimensions_map={"service": self.config.name},
            statistic=statistic,
            period=period,
        )

    def computed(
        self, expression: str, label: str, period: cdk.Duration = FIVE_MINUTES, **names: str
    ) -> cloudwatch.MathExpression:
        """A formula over metrics of the function, each under a name of its own: turns="Turns"."""
        return formula(expression, label, period, **{variable: self.of(name) for variable, name in names.items()})

    def cost(self) -> cloudwatch.MathExpression:
        """US dollars a day for the models, all by the one price list of the configuration."""
        prices = self.config
        return self.computed(
            f"(i * {prices.price_input} + o * {prices.price_output}"
            f" + r * {prices.price_cache_read} + w * {prices.price_cache_write}) / 1000000",
            "USD",
            DAY,
            i="InputTokens",
            o="OutputTokens",
            r="CacheReadInputTokens",
            w="CacheWriteInputTokens",
        )


def formula(
    expression: str, label: str, period: cdk.Duration, **metrics: cloudwatch.IMetric
) -> cloudwatch.MathExpression:
    """A formula over metrics by their names in it, or over formulas. Its period counts for each of them."""
    return cloudwatch.MathExpression(expression=expression, label=label, period=period, using_metrics=metrics)


def percent(part: str, whole: str, least: int) -> str:
    """An expression for part / whole in percent; 0 where the part is less than `least`, which says nothing about a rate."""
    return f"IF({part} >= {least}, 100 * {part} / {whole}, 0)"
