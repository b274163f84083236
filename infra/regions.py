"""What isn't there in every region. A test holds the lists of resource types against CloudFormation's own schemas."""

_NEITHER = (
    "ap-east-2",
    "ap-south-2",
    "ap-southeast-4",
    "ap-southeast-5",
    "ap-southeast-6",
    "ap-southeast-7",
    "ca-west-1",
    "il-central-1",
    "mx-central-1",
)
# Resource type -> the key of cdk.json that asks for it, and the regions that don't have it.
MISSING = {
    "AWS::EventSchemas::Schema": ("test_events", _NEITHER),
    "AWS::Lambda::Url": (
        "function_url",
        (*_NEITHER, "eu-central-2", "me-central-1", "us-gov-east-1", "us-gov-west-1"),
    ),
}
# Of which an account and region has one; the console's test events lie in it.
TEST_EVENT_REGISTRY = "lambda-testevent-schemas"
# Bedrock's guide, "Regional availability by endpoints", read in December 2026.
WITHOUT_BEDROCK = ("ap-east-1",)


def lacks_bedrock(region: str) -> str:
    """A sentence where the region is not known to have Bedrock; else blank. Not a refusal, since such lists age."""
    if region not in WITHOUT_BEDROCK:
        return ""
    return f"Amazon Bedrock was not offered in {region} when this was written: take another region, or model_provider=openai"
