"""The tools that ship; each module is offered only where the setting TOOLS names it."""
