"""What scripts/benchmark.py measures: the machine, our training, and peers beside it."""
