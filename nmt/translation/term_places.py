"""Where the terms of a glossary belong: at the words of a translation that are linked to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nmt.alignment.pieces_to_words import word_alignment
from nmt.text.pieces import PAD
from nmt.text.tokenizer import SegmentedSentence
from nmt.translation.inference.protocol import Hypothesis, PieceTerm

ATTENTION_SHARE = 0.5
"""Share of the attention at the replaced word from which on a term may begin in another search."""


def place_terms(
    terms: Sequence[PieceTerm], hypothesis: Hypothesis, source: SegmentedSentence, target: SegmentedSentence
) -> list[PieceTerm]:
    """The terms with the first piece of the word that each should replace, and the least attention there.

    This is the word with the most attention to the term among the words that are linked to it. If no word is linked to
    the term, all words count.

    Args:
        hypothesis: a translation without the terms, with one piece or more. Terms of one without words get no place.
        source, target: the words of the sentence and of its translation.
    """
    if not target.words:
        return list(terms)
    alignment = word_alignment(hypothesis.weights, source, target)
    placed = []
    for term in terms:
        words = sorted({source.word_of_piece[position] for position in term.positions})
        attention = alignment.weights[:, words].sum(axis=1)  # [target words]
        linked = sorted({t for s, t in alignment.links if s in words})
        word = linked[int(np.argmax(attention[linked]))] if linked else int(np.argmax(attention))
        first = target.word_of_piece.index(word) if word in target.word_of_piece else None
        if first is None:  # the word shares a piece with the word before it
            placed.append(term)
            continue
        least = ATTENTION_SHARE * float(hypothesis.weights[first, term.positions].sum())
        piece = hypothesis.ids[first]
        alone = target.word_of_piece.count(word) == 1
        placed.append(term._replace(replaced=piece, word=piece if alone else PAD, attention=least))
    return placed
