"""Sessions and counted tokens in a DynamoDB table."""
