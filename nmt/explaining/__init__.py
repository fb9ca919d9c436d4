"""Explaining: unusual pairs and why, erasure of source words, word vectors."""
