"""Alignment error rate, precision and recall of links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from nmt.alignment.links import Gold, Links
from nmt.evaluation.errors import require_equal_counts
from nmt.progress import counted


class AlignmentScore(NamedTuple):
    """The quality of predicted links: shares from 0 to 1, and their number."""

    aer: float
    precision: float
    recall: float
    f1: float
    links: int
    """The number of predicted links."""

    def __str__(self) -> str:
        return (
            f"AER = {self.aer:.3f} (precision {self.precision:.3f}, recall {self.recall:.3f}, F1 {self.f1:.3f}, "
            f"{counted(self.links, 'link')})"
        )


class LinkCounts(NamedTuple):
    """Numbers of links, of a corpus or of a sentence."""

    links: int
    """Predicted links, A."""
    sure: int
    """Sure gold links, S."""
    in_sure: int
    """|A & S|."""
    in_possible: int
    """|A & P|, where the possible links P contain the sure links."""

    @classmethod
    def of(cls, predicted: Links, gold: Gold) -> LinkCounts:
        """The counts of a sentence."""
        possible = gold.possible | gold.sure
        return cls(len(predicted), len(gold.sure), len(predicted & gold.sure), len(predicted & possible))

    def score(self) -> AlignmentScore:
        """The quality of the links; see `alignment_score`."""
        precision, recall = _share(self.in_possible, self.links), _share(self.in_sure, self.sure)
        return AlignmentScore(
            aer=1 - _share(self.in_sure + self.in_possible, self.links + self.sure),
            precision=precision,
            recall=recall,
            f1=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
            links=self.links,
        )


def link_counts(predicted: Iterable[Links], gold: Iterable[Gold]) -> list[LinkCounts]:
    """The counts of each sentence.

    Raises:
        EvaluationError: the numbers of predicted and gold alignments differ.
    """
    ours, theirs = list(predicted), list(gold)
    require_equal_counts(ours, theirs, "predicted alignments", "gold alignments")
    return [LinkCounts.of(links, of_pair) for links, of_pair in zip(ours, theirs, strict=True)]


def score_of_counts(counts: Sequence[LinkCounts]) -> AlignmentScore:
    """The score of a corpus: the counts of its sentences are summed before they are divided."""
    return LinkCounts(*map(sum, zip(*[(0, 0, 0, 0), *counts], strict=True))).score()


def alignment_score(predicted: Iterable[Links], gold: Iterable[Gold]) -> AlignmentScore:
    """Alignment error rate, precision and recall of predicted links A against sure S and possible P.

    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|), precision = |A & P| / |A|, recall = |A & S| / |S| (Och and Ney 2003).
    F1 is the harmonic mean of precision and recall. Counts are summed over the corpus before they are divided. An empty
    denominator counts as perfect: precision is 1 without predicted links, recall is 1 without sure links, and AER is 0
    without either.

    Raises:
        EvaluationError: the numbers of predicted and gold alignments differ.
    """
    return score_of_counts(link_counts(predicted, gold))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
