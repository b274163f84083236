"""What a tool is, how it is offered and how it is called."""
