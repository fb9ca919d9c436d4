"""What scripts/benchmarks/benchmark.py measures: the machine, our training, and peers beside it."""
