"""Tools for models without tool use, in the ReAct format."""
