"""What the agent costs beside the model, side by side with the script that people write by hand, as ratios of one run."""
