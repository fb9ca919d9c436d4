"""The special pieces that every vocabulary has, with fixed ids."""

from __future__ import annotations

PAD, UNK, BOS, EOS = 0, 1, 2, 3


SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")


UNKNOWN_SURFACE = "⁇"
"""What an unknown piece reads as; without SentencePiece's spaces around it, which would break its word in three."""
