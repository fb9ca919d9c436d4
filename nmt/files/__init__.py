"""Files: atomic writing, output files, resumable outputs, locks, paths, digests."""
