"""Alignments of words that follow from alignments of units."""

from __future__ import annotations

import numpy as np

from nmt.aligning.units import word_posterior, word_support
from nmt.text.tokenizer import SegmentedSentence

PIECES = SegmentedSentence("ab c", ["ab", "c"], [5, 6, 7], [0, 0, 1])
"""Two words of two pieces and one."""
WITH_NOTHING = SegmentedSentence("x ? y", ["x", "?", "y"], [5, 6, 7], [0, 2, 2])
"""Three words of which the second has no piece."""
WORDS = SegmentedSentence("a b", ["a", "b"], [5, 6], [0, 1])


def test_a_posterior_is_summed_over_a_source_word_and_averaged_over_a_target_word() -> None:
    posterior = np.array([[0.1, 0.2, 0.3, 0.4], [0.3, 0.3, 0.2, 0.2], [0.5, 0.0, 0.1, 0.4]], np.float32)
    found = word_posterior(posterior, PIECES, WITH_NOTHING)
    # x: 0.2 + 0.3 for ab; ?: the empty word alone; y: means of the last two rows
    np.testing.assert_allclose(found, [[0.1, 0.5, 0.4], [1, 0, 0], [0.4, 0.3, 0.3]], atol=1e-6)
    assert found.dtype == np.float32


def test_the_posterior_of_words_is_its_own() -> None:
    posterior = np.array([[0.1, 0.5, 0.4], [0.2, 0.2, 0.6]], np.float32)
    assert word_posterior(posterior, WORDS, WORDS) is posterior


def test_words_are_supported_by_any_two_of_their_units() -> None:
    supported = np.array([[False, True, False], [False, False, False], [False, False, True]])
    found = word_support(supported, PIECES, WITH_NOTHING)
    assert found.tolist() == [[True, False], [False, False], [False, True]]
    assert word_support(supported[:2, :2], WORDS, WORDS).tolist() == [[False, True], [False, False]]
