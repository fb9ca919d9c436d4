"""Unknown pieces of a translation replaced by copies of source words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nmt.alignment.pieces_to_words import piece_parts
from nmt.text.pieces import UNK, UNKNOWN_SURFACE
from nmt.text.tokenizer import SegmentedSentence
from nmt.translation.result import Translation


def copy_unknown_words(translation: Translation, target: SegmentedSentence, lexicon: Mapping[str, str]) -> Translation:
    """The translation with a source word in place of each unknown piece (Luong et al. 2015, "Addressing the Rare Word
    Problem in Neural Machine Translation", section 3.3).

    The source word is the one that the piece's word attends to most, or that word's entry in the lexicon.

    Args:
        translation: to change; its attention chooses the source words.
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
        if alignment.weights[word].any():
            source = alignment.source[int(alignment.weights[word].argmax())]
            words[word] = _with_copy(words[word], source, lexicon)
    text = _with_words(translation.text, alignment.target, words)
    return replace(translation, text=text, alignment=replace(alignment, target=tuple(words)))


def _with_words(text: str, old: Sequence[str], new: Sequence[str]) -> str:
    """The text with a new word in place of each of its words. The text between them stays."""
    parts, end = [], 0
    for word, changed in zip(old, new, strict=True):
        begin = text.index(word, end)
        parts += [text[end:begin], changed]
        end = begin + len(word)
    return "".join([*parts, text[end:]])


def _with_copy(word: str, source: str, lexicon: Mapping[str, str]) -> str:
    """The target word with the copy in place of its unknown pieces and the letters beside them."""
    bare = _without_punctuation(source)
    copy = lexicon.get(source, lexicon.get(bare, bare))
    before, after = word.partition(UNKNOWN_SURFACE)[0], word.rpartition(UNKNOWN_SURFACE)[2]
    # The copy is a whole word, so it also replaces the letters that touch the unknown piece.
    return re.sub(r"\w*$", "", before) + copy + re.sub(r"^\w*", "", after)


def _without_punctuation(word: str) -> str:
    """The word without the punctuation around it, because the translation has its own."""
    letters = [position for position, character in enumerate(word) if character.isalnum()]
    return word[letters[0] : letters[-1] + 1] if letters else word
