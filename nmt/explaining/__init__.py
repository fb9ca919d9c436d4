"""Explaining: unusual pairs and the reasons, erasure of source words, word vectors."""
