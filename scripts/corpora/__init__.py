"""Scripts that make corpora."""
