"""Evaluation: BLEU and chrF of translations, the error rate of alignments."""
