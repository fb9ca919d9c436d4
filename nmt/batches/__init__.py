"""Batches: the plan of each epoch, padded arrays, the encoded corpus on disk, the pipeline."""
