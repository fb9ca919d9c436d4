"""Files: atomic writing, resumable outputs, locks, paths, digests."""
