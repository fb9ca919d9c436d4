"""Hard links between words, decided from soft attention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.links import AlignmentError, Links

SHARE_FLOOR = 0.1
"""Attention mass added to what each source word receives before its shares are taken."""


LEAST_ATTENTION = 0.05
"""Share of its attention that a target word must have on words to be linked; attention mass that a source word must
get to be linked."""


LinkRule = Literal["share", "shares", "argmax", "threshold"]


Side = Literal["target", "source"]


Step = Literal["emit", "read"]


def require(condition: bool, message: str) -> None:
    if not condition:
        raise AlignmentError(message)


@dataclass(frozen=True)
class Linking:
    """How links between words are read off the attention between pieces.

    Raises:
        AlignmentError: a value that is none of those it can have.
    """

    rule: LinkRule = "share"
    """Which links a word gets, see `hard_links`."""
    side: Side = "target"
    """Whose words look for their links."""
    threshold: float = 0.4
    """Of the rules `shares` and `threshold`: least share that makes a link."""
    step: Step = "emit"
    """Whose attention is a target piece's: that of the step that emits it, or of the next one, which reads it in (Chen
    et al. 2020, Accurate Word Alignment Induction from Neural Machine Translation, Shift-Att)."""

    def __post_init__(self) -> None:
        for name, kind in (("rule", LinkRule), ("side", Side), ("step", Step)):
            value = getattr(self, name)
            require(value in get_args(kind), f"{name} is '{value}': expected one of {', '.join(get_args(kind))}")
        require(0 < self.threshold <= 1, f"threshold is {self.threshold}: expected more than 0, up to 1")


DEFAULT_LINKING = Linking()


def hard_links(
    weights: NDArray[np.float32], end_of_sentence: NDArray[np.float32], linking: Linking = DEFAULT_LINKING
) -> Links:
    """The links that follow from attention between words, by one of four rules.

    `share` links each target word to the source word whose attention it claims most of; the first of equals wins. The
    share of source word s that target word t claims is

        weights[t, s] / (`SHARE_FLOOR` + sum over all target words of weights[., s])

    so target words compete for a source word. The target word `l'` attends to `inn` as well as to `the`, because the
    noun decides the form of the article. But `auberge` claims most of the attention on `inn`. This is the first step
    of the alternating normalisation of Sinkhorn (1964). `SHARE_FLOOR` keeps source words with little attention from
    winning. A target word stays unlinked if words get less than a `LEAST_ATTENTION` share of its attention and the
    end-of-sentence symbol gets the rest.

    `shares` adds to the links of `share` every source word of which the target word claims `linking.threshold` or more,
    so a word can have several links.

    `argmax` links each target word to the source word that it attends to most; the first of equals wins. A target word
    that attends more to the end-of-sentence symbol stays unlinked.

    `threshold` links each target word to every source word that has at least `linking.threshold` of its attention, so a
    word can have several links, or none.

    With `side` source the languages change roles: each source word is linked, by the same rule, according to the
    attention that it receives from target words. It receives none from an end of sentence. A source word that receives
    less than `LEAST_ATTENTION` in all stays unlinked.

    Args:
        weights: [target words, source words].
        end_of_sentence: [target words].
        linking: rule, side and threshold.
    """
    if weights.size == 0:
        return frozenset()
    if linking.side == "target":
        return frozenset((s, t) for t, s in _chosen(weights, end_of_sentence, linking))
    received = weights.sum(axis=0)
    paid = np.where(received >= LEAST_ATTENTION, weights, 0).T  # [source words, target words]
    if linking.rule == "threshold":
        paid = paid / np.maximum(received, LEAST_ATTENTION)[:, None]
    return frozenset(_chosen(paid, np.zeros(len(paid), np.float32), linking))


def _chosen(paid: NDArray[np.float32], elsewhere: NDArray[np.float32], linking: Linking) -> Iterator[tuple[int, int]]:
    """(row, column) of the links of each row.

    Args:
        paid: attention mass, [words that look for links, words of the other side].
        elsewhere: a row's mass on no word.
    """
    total = paid.sum(axis=1)
    if linking.rule in ("share", "shares"):
        wanted = paid / (SHARE_FLOOR + paid.sum(axis=0, keepdims=True))
        linked = (total > 0) & (total >= LEAST_ATTENTION * (total + elsewhere))
    else:
        wanted = paid
        linked = (total > 0) & (paid.max(axis=1) >= elsewhere)
    chosen = np.zeros(paid.shape, bool)
    if linking.rule != "threshold":
        chosen[linked, wanted[linked].argmax(axis=1)] = True
    if linking.rule == "shares":
        chosen |= (wanted >= linking.threshold) & linked[:, None]
    elif linking.rule == "threshold":
        chosen = wanted >= linking.threshold
    yield from ((int(row), int(column)) for row, column in np.argwhere(chosen))
