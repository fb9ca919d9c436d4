"""The special pieces that every vocabulary has, with fixed ids."""

from __future__ import annotations

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""Ids of padding, the unknown piece, the beginning and the end of a sentence."""
SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
"""The text of the special pieces, by id."""
UNKNOWN_SURFACE = "⁇"
"""The decoded text of an unknown piece. SentencePiece's own has spaces around it, which would split the word."""
