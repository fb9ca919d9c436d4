"""Preparation of a run's text: vocabularies, encoded training pairs, validation pairs, and the cache of all three."""
