"""One outside port each: Amazon Bedrock, DynamoDB, logs and metrics."""
