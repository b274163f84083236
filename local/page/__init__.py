"""The page: what the agent did and what waits for a yes, in a browser on this machine."""
