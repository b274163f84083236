"""What the keys of cdk.json take, by name: the forms that AWS gives its ids, names and ARNs."""

from infra.choices import Rule, list_of, matching

_ARN = "arn:aws[a-z-]*:{}:[a-z0-9-]*:[0-9]*:.+"
_MODEL = "[A-Za-z0-9][A-Za-z0-9.:/_-]{0,2047}"

# Those that CloudWatch Logs knows.
LOG_RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653)


def arn(service: str, allowed: str, other: str = "") -> Rule:
    """An ARN of a service, or something of another pattern."""
    return matching("|".join(filter(None, (other, _ARN.format(service)))), allowed)


NAME = matching("[A-Za-z][A-Za-z0-9-]{0,63}", "up to 64 letters, digits and hyphens, a letter first")
MODEL = matching(_MODEL, "a model id, an inference profile id or an ARN")
MODELS = list_of(_MODEL, "model ids with commas between them")
FOUNDATION_MODEL = matching("[a-z0-9]+[.][A-Za-z0-9.:_-]+", "the id of a foundation model")
GUARDRAIL = arn("bedrock", "a guardrail's id or ARN", "[a-z0-9]+")
GUARDRAIL_VERSION = matching("DRAFT|[1-9][0-9]{0,7}", "DRAFT or a version number")
URL = matching("https?://[^ ]+", "an address")
# The issuer of a Cognito user pool's tokens.
USER_POOL = r"https://cognito-idp\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?/(?P<pool>[A-Za-z0-9_-]+)"
HTTPS_URL = matching("https://[^ ]+", "an https address")
SECRET = arn("secretsmanager", "a secret's name or ARN", "[A-Za-z0-9/_+=.@-]{1,512}")
TOOLS = list_of(r"\*|[A-Za-z][A-Za-z0-9_]*", "names of tool modules with commas between them")
# As the function's log names a caller.
CALLERS = list_of("[0-9a-f]{32}", "hashes of callers, as the log has them, with commas between them")
ORIGINS = list_of("https?://[A-Za-z0-9.-]+(:[0-9]+)?", "origins such as https://example.com with commas between them")
WORDS = list_of("[^ ,]+", "words with commas between them")
_KEY = "arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/(mrk-)?[0-9a-f-]{32,36}"
KEY = matching(_KEY, "a key's ARN")
NEW_KEY = matching(f"create|{_KEY}", "create or a key's ARN")
TABLE = matching("[A-Za-z0-9_.-]{3,255}", "a table's name")
TOPIC = arn("sns", "an SNS topic's ARN")
EMAIL = matching("[^ @,]+@[^ @,]+[.][^ @,.]+", "an e-mail address")
