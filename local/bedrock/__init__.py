"""A local stand-in for Amazon Bedrock's Converse API: rules, wire format, and a model of your choice."""
