"""Alignment error rate, precision and recall of links."""

from __future__ import annotations

from collections.abc import Iterable
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


def alignment_score(predicted: Iterable[Links], gold: Iterable[Gold]) -> AlignmentScore:
    """Alignment error rate, precision and recall of predicted links A against sure S and possible P.

    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|), precision = |A & P| / |A|, recall = |A & S| / |S| (Och and Ney 2003).
    F1 is the harmonic mean of precision and recall. Counts are summed over the corpus before they are divided. An empty
    denominator counts as perfect: precision is 1 without predicted links, recall is 1 without sure links, and AER is 0
    without either.

    Raises:
        EvaluationError: the numbers of predicted and gold alignments differ.
    """
    ours, theirs = list(predicted), list(gold)
    require_equal_counts(ours, theirs, "predicted alignments", "gold alignments")
    links = sum(len(a) for a in ours)
    sure = sum(len(g.sure) for g in theirs)
    in_sure = sum(len(a & g.sure) for a, g in zip(ours, theirs, strict=True))
    in_possible = sum(len(a & (g.possible | g.sure)) for a, g in zip(ours, theirs, strict=True))
    precision, recall = _share(in_possible, links), _share(in_sure, sure)
    return AlignmentScore(
        aer=1 - _share(in_sure + in_possible, links + sure),
        precision=precision,
        recall=recall,
        f1=2 * precision * recall / (precision + recall) if precision + recall else 0.0,
        links=links,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
