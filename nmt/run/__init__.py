"""The run directory: its files, and the conditions for resuming a run."""
