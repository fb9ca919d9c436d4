"""Training: a configuration becomes a trained run."""
