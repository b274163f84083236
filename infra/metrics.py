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

    def each(self, name: str, period: cdk.Duration = FIVE_MINUTES, statistic: str = "Sum") -> list[cloudwatch.IMetric]:
        """One metric of the function for each model that may answer, over each period and by a statistic."""
        models = self.config.model_ids
        return [
            cloudwatch.Metric(
                namespace=self.config.name,
                metric_name=name,
                dimensions_map={"service": self.config.name, "model": model},
                statistic=statistic,
                period=period,
                label=f"{name} {statistic} {model}" if len(models) > 1 else None,
            )
            for model in models
        ]

    def total(self, name: str, period: cdk.Duration = FIVE_MINUTES) -> cloudwatch.IMetric:
        """One metric of the function, added up over each period and all models."""
        metrics = self.each(name, period)
        if len(metrics) == 1:
            return metrics[0]
        using = {f"{name[0].lower()}{name[1:]}{number}": metric for number, metric in enumerate(metrics)}
        summed = " + ".join(f"FILL({variable}, 0)" for variable in using)
        return cloudwatch.MathExpression(expression=summed, label=name, period=period, using_metrics=using)

    def computed(
        self, expression: str, label: str, period: cdk.Duration = FIVE_MINUTES, **names: str
    ) -> cloudwatch.MathExpression:
        """A formula over metrics of the function, each under a name of its own: turns="Turns"."""
        using = {variable: self.total(name, period) for variable, name in names.items()}
        return cloudwatch.MathExpression(expression=expression, label=label, period=period, using_metrics=using)

    def cost(self, period: cdk.Duration) -> cloudwatch.MathExpression:
        """US dollars for the models, all by the one price list of cdk.json."""
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
