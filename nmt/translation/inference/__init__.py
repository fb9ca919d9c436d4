"""Inference: batches of ids through a compiled search and a compiled forward pass; `protocol.py` is its interface."""
