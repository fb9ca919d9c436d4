"""The run directory: what it holds, its .npz files, and what may differ when a run is resumed."""
