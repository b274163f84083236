"""A model behind Amazon Bedrock."""
