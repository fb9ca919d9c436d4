"""Unknown pieces of a translation replaced by copies of source words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.hard_links import BY_ALIGNER
from nmt.alignment.pieces_to_words import piece_parts
from nmt.alignment.word_alignment import WordAlignment
from nmt.text.languages.words import word_spans
from nmt.text.patterns import pattern
from nmt.text.pieces import UNK, UNKNOWN_SURFACE
from nmt.text.tokenizer import SegmentedSentence
from nmt.translation.result import Translation


def copy_unknown_words(translation: Translation, target: SegmentedSentence, lexicon: Mapping[str, str]) -> Translation:
    """The translation with a source word in place of each unknown piece (Luong et al. 2015, "Addressing the Rare Word
    Problem in Neural Machine Translation", section 3.3).

    The source word is the one that the piece's word attends to most, or that word's entry in the lexicon. If an aligner
    links the piece's word, only the linked source words count.

    Args:
        translation: to change; its attention and an aligner's links choose the source words.
        target: the translation's words and pieces.
        lexicon: the word to write for a source word, looked up with and without its punctuation.
    """
    alignment, words = translation.alignment, list(translation.alignment.target)
    parts = piece_parts(target)
    unknown = {
        word
        for piece, word in zip(parts.pieces.tolist(), parts.words.tolist(), strict=True)
        if target.ids[piece] == UNK
    }
    for word in unknown:
        weights = _choosing(alignment, word)
        if weights.any():
            source = alignment.source[int(weights.argmax())]
            words[word] = _with_copy(words[word], source, lexicon)
    text = _with_words(translation.text, alignment.target, words)
    return replace(translation, text=text, alignment=replace(alignment, target=tuple(words)))


def _choosing(alignment: WordAlignment, word: int) -> NDArray[np.float32]:
    """The attention of a target word to the source words that it may be a copy of, [source words]."""
    weights = alignment.weights[word]
    linked = [s for s, t in alignment.links if t == word] if alignment.linked_by == BY_ALIGNER else []
    if not linked:
        return weights
    chosen = np.zeros_like(weights)
    chosen[linked] = weights[linked] + np.finfo(np.float32).tiny  # a link without attention counts too
    return chosen


def _with_words(text: str, old: Sequence[str], new: Sequence[str]) -> str:
    """The text with a new word in place of each of its words. The text between them stays."""
    parts, at = [], 0
    for (begin, end), changed in zip(word_spans(text, old), new, strict=True):
        parts += [text[at:begin], changed]
        at = end
    return "".join([*parts, text[at:]])


def _with_copy(word: str, source: str, lexicon: Mapping[str, str]) -> str:
    """The target word with the copy in place of its unknown pieces and the letters beside them."""
    bare = _without_punctuation(source)
    copy = lexicon.get(source, lexicon.get(bare, bare))
    before, after = word.partition(UNKNOWN_SURFACE)[0], word.rpartition(UNKNOWN_SURFACE)[2]
    # The copy is a whole word, so it also replaces the letters that touch the unknown piece.
    return pattern(r"[\w\p{M}]*$").sub("", before) + copy + pattern(r"^[\w\p{M}]*").sub("", after)


def _without_punctuation(word: str) -> str:
    """The word without the punctuation around it, because the translation has its own."""
    letters = [position for position, character in enumerate(word) if character.isalnum()]
    return word[letters[0] : letters[-1] + 1] if letters else word
