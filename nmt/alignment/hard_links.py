"""Rules that turn soft attention between words into hard links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nmt.alignment.errors import require
from nmt.alignment.links import Links

SHARE_FLOOR = 0.1
"""Attention mass added to the attention that each source word receives, before shares of it are computed."""
LEAST_ATTENTION = 0.05
"""The least attention of a linked word: for a target word a share of its attention, for a source word received mass."""

LinkedBy = Literal["attention", "aligner"]
BY_ATTENTION: Final[LinkedBy] = "attention"
BY_ALIGNER: Final[LinkedBy] = "aligner"
"""What made the links of a pair."""

LinkRule = Literal["share", "shares", "argmax", "threshold"]
Side = Literal["target", "source"]
Step = Literal["emit", "read"]


@dataclass(frozen=True)
class Linking:
    """Settings of the links that follow from attention.

    Raises:
        AlignmentError: a setting has an impossible value.

    Example:
        >>> nmt.Linking(rule="threshold", threshold=0.2).side
        'target'
    """

    rule: LinkRule = "share"
    """The rule, see `hard_links`."""
    side: Side = "target"
    """The side whose words choose their links."""
    threshold: float = 0.4
    """The least share that makes a link, for the rules `shares` and `threshold`."""
    step: Step = "emit"
    """The decoder step whose attention belongs to a target piece.

    `emit`: the step that emits the piece. `read`: the next step, which reads the piece (Chen et al. 2020, Accurate Word
    Alignment Induction from Neural Machine Translation, Shift-Att)."""

    def __post_init__(self) -> None:
        for name, kind in (("rule", LinkRule), ("side", Side), ("step", Step)):
            value = getattr(self, name)
            require(value in get_args(kind), f"{name} is '{value}': expected one of {', '.join(get_args(kind))}")
        require(0 < self.threshold <= 1, f"threshold is {self.threshold}: expected more than 0, up to 1")

    @property
    def compares_shares(self) -> bool:
        """Whether the rule compares shares of a word's attention, which `link_shares` computes."""
        return self.rule in ("share", "shares")

    @property
    def in_words(self) -> str:
        """The rule, for a legend."""
        chooser, other = ("target", "source") if self.side == "target" else ("source", "target")
        least = f"{100 * self.threshold:.0f} %"
        if self.rule == "argmax":
            return f"each {chooser} word's strongest attention"
        if self.rule == "threshold":
            return f"at least {least} of the {chooser} word's attention"
        if self.rule == "shares":
            return f"the {chooser} word's largest share (%) of a {other} word's attention, or a share of {least}"
        return f"the {chooser} word's largest share (%) of a {other} word's attention"


DEFAULT_LINKING = Linking()


def link_shares(weights: NDArray[np.float32], linking: Linking = DEFAULT_LINKING) -> NDArray[np.float32]:
    """[target words, source words]: the shares that the rules `share` and `shares` compare, see `hard_links`."""
    paid = weights if linking.side == "target" else _received(weights).T
    claims = _claims(paid)
    return claims if linking.side == "target" else claims.T


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

    `shares` adds links to every source word whose attention the target word claims `linking.threshold` or more of. So a
    word can have several links.

    `argmax` links each target word to the source word that it attends to most; the first of equals wins. A target word
    that attends more to the end-of-sentence symbol stays unlinked.

    `threshold` links each target word to every source word that has at least `linking.threshold` of its attention. So a
    word can have several links, or none.

    With `side` source the languages change roles: the rule links each source word according to the attention
    that it receives from target words. It receives none from an end of sentence. A source word that receives
    less than `LEAST_ATTENTION` in all stays unlinked.

    Args:
        weights: [target words, source words].
        end_of_sentence: [target words].
        linking: rule, side and threshold.
    """
    if weights.size == 0:
        return frozenset()
    if linking.side == "target":
        return frozenset((s, t) for t, s in _choose(weights, end_of_sentence, linking))
    paid = _received(weights).T  # [source words, target words]
    if linking.rule == "threshold":
        paid = paid / np.maximum(weights.sum(axis=0), LEAST_ATTENTION)[:, None]
    return frozenset(_choose(paid, np.zeros(len(paid), np.float32), linking))


def _received(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """The weights, [target words, source words], with 0 for source words that receive less than `LEAST_ATTENTION`."""
    return np.where(weights.sum(axis=0) >= LEAST_ATTENTION, weights, np.float32(0))


def _claims(paid: NDArray[np.float32]) -> NDArray[np.float32]:
    """The share of the attention on each word of the other side that each word claims."""
    return paid / (SHARE_FLOOR + paid.sum(axis=0, keepdims=True))


def _choose(paid: NDArray[np.float32], elsewhere: NDArray[np.float32], linking: Linking) -> Iterator[tuple[int, int]]:
    """(row, column) of each link.

    Args:
        paid: attention mass, [words that choose links, words of the other side].
        elsewhere: [words that choose links], each word's attention on no word.
    """
    total = paid.sum(axis=1)
    if linking.compares_shares:
        claims = _claims(paid)
        linked = (total > 0) & (total >= LEAST_ATTENTION * (total + elsewhere))
    else:
        claims = paid
        linked = (total > 0) & (paid.max(axis=1) >= elsewhere)
    chosen = np.zeros(paid.shape, bool)
    if linking.rule != "threshold":
        chosen[linked, claims[linked].argmax(axis=1)] = True
    if linking.rule == "shares":
        chosen |= (claims >= linking.threshold) & linked[:, None]
    elif linking.rule == "threshold":
        chosen = claims >= linking.threshold
    yield from ((int(row), int(column)) for row, column in np.argwhere(chosen))
