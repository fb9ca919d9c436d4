"""The special pieces of every vocabulary, with fixed ids, and the visible space."""

from __future__ import annotations

PAD, UNK, BOS, EOS = 0, 1, 2, 3
"""Ids of padding, the unknown piece, the beginning and the end of a sentence."""
SPECIAL_PIECES = ("<pad>", "<unk>", "<s>", "</s>")
"""The text of the special pieces, by id."""
UNKNOWN_SURFACE = "⁇"
"""The decoded text of an unknown piece. SentencePiece's own has spaces around it, which would split the word."""
SPACE = "▁"
"""SentencePiece's visible space: it starts the first piece of a word, or is a piece before the word."""
