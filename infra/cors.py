"""What pages of the chosen origins may send and read: the same for the API and for the function URL."""

import aws_cdk as cdk

CORS_METHODS = ["GET", "POST", "DELETE"]
# What a SigV4 or JWT client in a browser sends.
CORS_HEADERS = ["authorization", "content-type", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"]
CORS_EXPOSED = ["retry-after"]
CORS_MAX_AGE = cdk.Duration.hours(1)
