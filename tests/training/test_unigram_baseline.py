"""The loss of the frequencies of the target pieces."""

from __future__ import annotations

import math

import pytest

from nmt.batches.arrays import Sequences
from nmt.training import unigram_baseline
from nmt.training.unigram_baseline import unigram_loss


@pytest.mark.parametrize("chunk", [2, 100])
def test_it_is_the_cross_entropy_of_laplace_smoothed_frequencies(monkeypatch, chunk):
    """Counts with one more each: id 3, the end, 2 + 1; id 4, 3 + 1; id 5, 1 + 1; the others 1; 13 in all."""
    monkeypatch.setattr(unigram_baseline, "CHUNK", chunk)
    training = Sequences.of([[4, 4, 5], [4]])
    expected = -(math.log(4 / 13) + math.log(1 / 13) + 2 * math.log(3 / 13)) / 4
    assert unigram_loss(training, [[4, 6], []], size=7) == pytest.approx(expected)
