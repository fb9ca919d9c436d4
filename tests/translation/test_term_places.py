"""The words that the terms of a glossary replace."""

from __future__ import annotations

import numpy as np
import pytest

from nmt.text.pieces import PAD
from nmt.text.tokenizer import SegmentedSentence
from nmt.translation.inference.protocol import Hypothesis, PieceForm, PieceTerm
from nmt.translation.term_places import place_terms


def sentence(words: list[str], word_of_piece: list[int]) -> SegmentedSentence:
    return SegmentedSentence(" ".join(words), words, list(range(10, 10 + len(word_of_piece))), word_of_piece)


SOURCE = sentence(["the", "dog", "sleeps"], [0, 1, 1, 2])
"""The dog has the pieces 1 and 2."""
TARGET = sentence(["Hund", "schläft"], [0, 0, 1])


def hypothesis(weights: list[list[float]]) -> Hypothesis:
    rows = np.array(weights, np.float32)
    return Hypothesis(TARGET.ids, -1.0, -1.0, rows, True, np.zeros(len(rows), np.float32))


@pytest.mark.parametrize(
    ("weights", "replaced", "attention"),
    [
        # the dog's word is the first, which begins with piece 10
        ([[0.1, 0.5, 0.3, 0.1, 0], [0, 0.9, 0.1, 0, 0], [0, 0, 0.1, 0.9, 0], [0, 0, 0, 0, 1]], 10, 0.4),
        # the second, which is piece 12
        ([[0.9, 0, 0.1, 0, 0], [0.9, 0.1, 0, 0, 0], [0, 0.3, 0.4, 0.3, 0], [0, 0, 0, 0, 1]], 12, 0.35),
        # no word is linked to the dog; the second attends to it most
        ([[0.7, 0.2, 0, 0.1, 0], [0.7, 0.2, 0, 0.1, 0], [0, 0.1, 0.2, 0.7, 0], [0, 0, 0, 0, 1]], 12, 0.15),
    ],
)
def test_a_term_replaces_the_word_that_is_linked_to_it(weights, replaced, attention):
    """It may begin at half the attention of the word's first piece."""
    (placed,) = place_terms([PieceTerm([PieceForm([7])], [1, 2])], hypothesis(weights), SOURCE, TARGET)
    assert placed.replaced == replaced != PAD
    assert placed.word == (PAD if replaced == 10 else replaced)  # the first word has two pieces
    assert placed.attention == pytest.approx(attention)


def test_a_translation_without_words_gives_no_place():
    """An untrained network may write nothing but spaces."""
    terms = [PieceTerm([PieceForm([7])], [1, 2])]
    blank = Hypothesis([9], -1.0, -1.0, np.ones((2, 5), np.float32), True, np.zeros(2, np.float32))
    assert place_terms(terms, blank, SOURCE, sentence([], [0])) == terms
