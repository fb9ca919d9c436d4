"""The word aligner: it learns from sentence pairs alone which words translate which."""
