"""A deterministic stand-in for a language model: rules over the question, the history and the offered tools."""
