"""Stretches of words and places between words, carried from the source to the target by links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.hard_links import SHARE_FLOOR, hard_links
from nmt.alignment.word_alignment import WordAlignment

FOREIGN = -0.4
"""The value of a target word that belongs to other source words. Two parts of a discontinuous translation, each worth
1, are joined over two such words, as in `ne lui parle pas`, and not over three."""
SHARED = 0.5
"""The value of a target word half of which belongs to the stretch."""
UNLINKED = -0.3
"""The value of a target word that belongs to no source word."""
ENCLOSED = -1.5
"""The value of a foreign word that another stretch has already."""
LEAST_ATTENTION = 0.05
"""Attention that a target word needs if nothing is linked to a stretch."""


class Stretch(NamedTuple):
    """Neighbouring words: from the first up to the end, which is excluded. Both are equal for a place between words."""

    begin: int
    end: int


class Projection:
    """Carries stretches and places of a sentence to its translation.

    Args:
        shares: [target words, source words]: the share of each target word that belongs to each source word. A row sums
            to 1, or to 0 for a word that belongs to none.
        attention: [target words, source words]; decides where no word belongs to a stretch.
    """

    def __init__(self, shares: NDArray[np.float64], attention: NDArray[np.float32]) -> None:
        self._shares, self._attention = shares, attention.astype(float)
        self.target_words, self.source_words = attention.shape

    def stretch(self, words: Iterable[int], within: Stretch, taken: Sequence[Stretch] = ()) -> Stretch | None:
        """The stretch of the target that fits source words best.

        It is the one with the largest sum of values of its words: 1 for a word that belongs to these source words
        alone, less for others. It does not cross the stretches that are taken: it lies outside of them, or contains
        them, or lies within one.

        Args:
            words: of the source.
            within: the part of the target to choose from.
            taken: stretches that do not cross each other.

        Returns:
            None if no target word fits.
        """
        chosen = sorted({word for word in words if word < self.source_words})
        values = self._values(chosen)
        outer = [one for one in taken if not any(_contains(other, one) for other in taken if other != one)]
        candidates = [_largest_sum(_blocks(values, within, set(outer)))]
        if candidates[0][0] <= 0:
            candidates += [_largest_sum(_blocks(values, one, set())) for one in outer]
        value, found = max(candidates, key=lambda candidate: candidate[0])
        if value > 0:
            return found
        attention = self._attention[within.begin : within.end, chosen].sum(axis=1)
        free = np.array([not any(one.begin <= t < one.end for one in outer) for t in range(within.begin, within.end)])
        if attention.size and (attention * free).max() >= LEAST_ATTENTION:
            best = within.begin + int((attention * free).argmax())
            return Stretch(best, best + 1)
        return None

    def _values(self, words: Sequence[int]) -> NDArray[np.float64]:
        """[target words]: how well each fits these source words."""
        share = self._shares[:, words].sum(axis=1)
        ours = np.minimum(SHARED + 2 * (share - 0.5), 1.0)
        values = np.where(share >= 0.5 - 1e-6, ours, 2 * -FOREIGN * (share - 0.5))
        linked: NDArray[np.float64] = np.where(self._shares.any(axis=1), values, UNLINKED)
        return linked + 1e-3 * self._attention[:, words].sum(axis=1)  # of equal words the one with more attention

    def place(self, before: int, within: Stretch, taken: Sequence[Stretch] = (), left: bool = False) -> int:
        """The place between target words that fits a place between source words: fewest links run across it.

        Links of words near the place count most. The first of equal places wins.

        Args:
            before: number of source words before the place.
            within: the part of the target to choose from.
            taken: stretches that the place does not part, if possible.
            left: whether the place belongs to the word before it, rather than to the word behind it.
        """
        if before == 0 and within.begin == 0:
            return 0
        if before >= self.source_words and within.end == self.target_words:
            return within.end
        distance = np.arange(self.source_words) - before
        weight = 1.0 / np.where(distance >= 0, distance + 1, -distance) ** 2
        if before:
            weight[before - 1] *= 2 if left else 1
        if before < self.source_words:
            weight[before] *= 1 if left else 2
        cost_if_left = self._shares[:, before:] @ weight[before:]  # of target words before the place
        cost_if_right = self._shares[:, :before] @ weight[:before]
        places = range(within.begin, within.end + 1)
        parted = [any(one.begin < place < one.end for one in taken) for place in places]
        costs = [cost_if_left[:place].sum() + cost_if_right[place:].sum() for place in places]
        ranked = [cost + 100 * part for cost, part in zip(costs, parted, strict=True)]
        return within.begin + int(np.argmin(np.round(ranked, 9)))


def source_shares(alignment: WordAlignment) -> NDArray[np.float64]:
    """[target words, source words]: the share of each target word that belongs to each source word.

    A word belongs to the words that it is linked to, in equal parts. Links that follow from attention by the default
    rule say less than the attention itself. Then a word belongs to the source words in proportion to the shares of
    their attention that it claims (see `hard_links`), unless it has no link.
    """
    shares = np.zeros(alignment.weights.shape)
    for s, t in alignment.links:
        shares[t, s] = 1.0
    if alignment.links and alignment.links == hard_links(alignment.weights, alignment.end_of_sentence):
        claims = alignment.weights / (SHARE_FLOOR + alignment.weights.sum(axis=0, keepdims=True))
        shares = claims * shares.any(axis=1, keepdims=True)
    total = shares.sum(axis=1, keepdims=True)
    return np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)


def _contains(outer: Stretch, inner: Stretch) -> bool:
    return outer.begin <= inner.begin and inner.end <= outer.end


def _blocks(values: NDArray[np.float64], within: Stretch, whole: set[Stretch]) -> list[tuple[float, Stretch]]:
    """The words of a part with their values, each stretch of `whole` as one."""
    found, place = [], within.begin
    ends = {one.begin: one for one in whole if one.end > one.begin}
    while place < within.end:
        one = ends.get(place)
        if one is None:
            found.append((float(values[place]), Stretch(place, place + 1)))
        else:
            inside = values[one.begin : one.end]
            found.append((float(np.where(inside > 0, inside, ENCLOSED).sum()), one))
        place = found[-1][1].end
    return found


def _largest_sum(blocks: Sequence[tuple[float, Stretch]]) -> tuple[float, Stretch]:
    """The neighbouring blocks with the largest sum (Kadane's algorithm); the first and shortest of equals."""
    best, found = 0.0, Stretch(0, 0)
    total, begin = 0.0, 0
    for value, block in blocks:
        if total <= 0:
            total, begin = 0.0, block.begin
        total += value
        if total > best:
            best, found = total, Stretch(begin, block.end)
    return best, found
