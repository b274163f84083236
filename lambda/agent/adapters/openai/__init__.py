"""A model behind an OpenAI-compatible server."""
