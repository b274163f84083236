"""The edge: Lambda events in, answers out."""
