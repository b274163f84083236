"""The numbers that the stack watches: the function's own metrics and what they add up to."""

from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.config import Config

DAY = cdk.Duration.days(1)
FIVE_MINUTES = cdk.Duration.minutes(5)


@dataclass(frozen=True)
class AgentMetrics:
    """Metrics that the function writes for each turn, with the service and the model as dimensions."""

    config: Config

    def total(self, name: str, period: cdk.Duration = FIVE_MINUTES, statistic: str = "Sum") -> cloudwatch.Metric:
        """One metric of the function, added up over each period or by another statistic."""
        return cloudwatch.Metric(
            namespace=self.config.name,
            metric_name=name,
            dimensions_map={"service": self.config.name, "model": self.config.model_id},
            statistic=statistic,
            period=period,
        )

    def computed(
        self, expression: str, label: str, period: cdk.Duration = FIVE_MINUTES, **names: str
    ) -> cloudwatch.MathExpression:
        """A formula over metrics of the function, each under a name of its own: turns="Turns"."""
        using = {variable: self.total(name, period) for variable, name in names.items()}
        return cloudwatch.MathExpression(
            expression=expression, label=label, period=period, using_metrics=dict[str, cloudwatch.IMetric](using)
        )

    def cost(self, period: cdk.Duration) -> cloudwatch.MathExpression:
        """US dollars for the model, by the prices of cdk.json."""
        prices = self.config
        return self.computed(
            f"(FILL(i, 0) * {prices.price_input} + FILL(o, 0) * {prices.price_output}"
            f" + FILL(r, 0) * {prices.price_cache_read} + FILL(w, 0) * {prices.price_cache_write}) / 1000000",
            "USD",
            period,
            i="InputTokens",
            o="OutputTokens",
            r="CacheReadInputTokens",
            w="CacheWriteInputTokens",
        )
