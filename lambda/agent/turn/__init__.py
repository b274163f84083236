"""One turn: the loop, and what becomes of the model's replies."""
