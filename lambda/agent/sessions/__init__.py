"""A session's turns: held under a lease, kept, shown and trimmed."""
