"""Links from the posteriors of both directions."""

from __future__ import annotations

import numpy as np
import pytest

from nmt.aligning.aligned_pair import AlignedPair, align_words

FORWARD = np.array([[0.1, 0.9, 0, 0], [0.1, 0.9, 0, 0], [0.8, 0, 0, 0.2]], np.float32)
"""Target words 0 and 1 come from source word 0, and 2 from nothing."""
BACKWARD = np.array([[0.1, 0.9, 0, 0], [0.9, 0, 0.1, 0], [0.3, 0, 0, 0.7]], np.float32)
"""Source word 0 comes from target word 0, 1 from nothing, and 2 from target word 2."""


def aligned(method: str, forward: bool = False, backward: bool = False) -> AlignedPair:
    supported = np.full((3, 3), forward), np.full((3, 3), backward)
    return align_words(list("abc"), list("xyz"), FORWARD, BACKWARD, supported, method)


@pytest.mark.parametrize(
    ("method", "links"),
    [("intersection", {(0, 0)}), ("union", {(0, 0), (0, 1), (2, 2)}), ("grow-diag", {(0, 0), (0, 1)})],
)
def test_both_directions_are_merged(method, links):
    assert aligned(method).links == links


def test_links_of_one_direction_need_support():
    """Both directions chose 0-0. One direction chose 0-1 and the other 2-2, so it must know them from training."""
    assert aligned("supported").links == {(0, 0)}
    assert aligned("supported", forward=True).links == {(0, 0), (0, 1)}
    assert aligned("supported", backward=True).links == {(0, 0), (2, 2)}


def test_a_probability_is_the_mean_of_both_directions():
    found = aligned("union")
    assert found.probabilities[0, 0] == pytest.approx(0.9)
    assert found.probabilities[1, 0] == pytest.approx(0.45)
    assert found.end_of_sentence.tolist() == pytest.approx([0.1, 0.1, 0.8])
