"""The agent: its loop, its sessions, its tools. Nothing is imported here: each module is imported by its own name."""
