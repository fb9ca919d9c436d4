"""The loss of the frequencies of the target pieces."""

from __future__ import annotations

import math

import pytest

from nmt.batches.arrays import Sequences
from nmt.training import unigram_baseline
from nmt.training.unigram_baseline import count_pieces, unigram_loss


@pytest.mark.parametrize("chunk", [2, 100])
def test_it_is_the_cross_entropy_of_laplace_smoothed_frequencies(monkeypatch, chunk):
    """Counts with one more each: id 3, the end, 2 + 1; id 4, 3 + 1; id 5, 1 + 1; the others 1; 13 in all."""
    monkeypatch.setattr(unigram_baseline, "CHUNK", chunk)
    training = Sequences.of([[4, 4, 5], [4]])
    expected = -(math.log(4 / 13) + math.log(1 / 13) + 2 * math.log(3 / 13)) / 4
    assert unigram_loss(count_pieces(training, 7), 2, [[4, 6], []]) == pytest.approx(expected)
