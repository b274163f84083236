"""The model that answers where cdk.json names none, and until when Amazon Bedrock promises it."""

from datetime import date

MODEL = "anthropic.claude-haiku-5-5"
# "EOL no sooner than" on its card, looked up in December 2026. To renew both, take a model whose card promises half a year more:
# https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-anthropic-claude-haiku-5-5.html
PROMISED_UNTIL = date(2027, 10, 7)


def default_model(region: str | None) -> str:
    """The model's profile for a region, by its card: global. in all commercial regions (and for None), us-gov. in GovCloud."""
    return f"us-gov.{MODEL}" if region and region.startswith("us-gov-") else f"global.{MODEL}"


def promise_ended(model_id: str, today: date) -> str:
    """A sentence where the default model answers beyond the day that it was promised for; else blank."""
    if not model_id.endswith(f".{MODEL}") or today <= PROMISED_UNTIL:
        return ""
    return (
        f"Amazon Bedrock promised {MODEL} until {PROMISED_UNTIL}: look at its model card, and set model_id to a newer model "
        "before it reaches its end of life"
    )
