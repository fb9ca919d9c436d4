"""Parts of the benchmarks: the machine, the training of nmt, translation, and the peers."""
