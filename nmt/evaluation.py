"""How good translations and word alignments are: BLEU, chrF, alignment error rate.

sacrebleu is imported by the functions that need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nmt.alignment.links import Gold, Links
from nmt.errors import NmtError

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric


class EvaluationError(NmtError):
    """Something that cannot be scored; the message says what was expected."""


class Score(NamedTuple):
    """A corpus score from 0 to 100, and sacrebleu's signature, which says how it was computed (Post 2018)."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value:.2f} ({self.signature})"


def bleu(hypotheses: Iterable[str], references: Iterable[str], tokenize: str = "13a") -> Score:
    """Corpus BLEU (Papineni et al. 2002) of detokenized translations, one reference each.

    Args:
        hypotheses: translations.
        references: as many references, in the same order.
        tokenize: sacrebleu's tokenizer for both sides; `none` where the text is tokenized already.

    Raises:
        EvaluationError: counts that differ, no sentences, or a tokenizer that sacrebleu does not have.
    """
    metric = _bleu(tokenize)
    return _score(metric, *_paired(list(hypotheses), list(references)))


def require_tokenizer(tokenize: str) -> None:
    """Refuses, before anything is translated, a tokenizer that `bleu` would refuse after it.

    Raises:
        EvaluationError: sacrebleu does not have it.
    """
    _bleu(tokenize)


def _bleu(tokenize: str) -> Metric:
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in BLEU.TOKENIZERS:
        raise EvaluationError(f"tokenize is '{tokenize}': expected one of {', '.join(BLEU.TOKENIZERS)}")
    try:
        # force: text that looks tokenized is scored without a warning; the signature says how it was scored.
        return BLEU(tokenize=tokenize, force=True)
    except (RuntimeError, ImportError, OSError) as error:  # a tokenizer that needs a package or a download
        raise EvaluationError(f"tokenize is '{tokenize}': {' '.join(str(error).split())}") from None


def chrf(hypotheses: Iterable[str], references: Iterable[str]) -> Score:
    """Corpus chrF2 (Popovic 2015: character n-grams up to 6, beta 2), one reference each.

    Raises:
        EvaluationError: counts that differ, or no sentences.
    """
    from sacrebleu.metrics.chrf import CHRF

    return _score(CHRF(), *_paired(list(hypotheses), list(references)))


def _paired(hypotheses: list[str], references: list[str]) -> tuple[list[str], list[str]]:
    _require_equal_counts(hypotheses, references, "translations", "references")
    if not references:
        raise EvaluationError("no sentences to score: expected at least one translation and its reference")
    return hypotheses, references


def _require_equal_counts(first: Sequence[object], second: Sequence[object], ours: str, theirs: str) -> None:
    if len(first) != len(second):
        raise EvaluationError(f"{len(first)} {ours} but {len(second)} {theirs}: expected as many of both, in order")


def _score(metric: Metric, hypotheses: list[str], references: list[str]) -> Score:
    result = metric.corpus_score(hypotheses, [references])
    return Score(result.name, result.score, str(metric.get_signature()))


class AlignmentScore(NamedTuple):
    """Quality of predicted links; all but `links` are shares from 0 to 1."""

    aer: float
    precision: float
    recall: float
    f1: float
    links: int
    """How many links were predicted."""

    def __str__(self) -> str:
        return (
            f"AER = {self.aer:.3f} (precision {self.precision:.3f}, recall {self.recall:.3f}, F1 {self.f1:.3f}, "
            f"{self.links} links)"
        )


def alignment_score(predicted: Iterable[Links], gold: Iterable[Gold]) -> AlignmentScore:
    """Alignment error rate, precision and recall of predicted links A against sure S and possible P.

    AER = 1 - (|A & S| + |A & P|) / (|A| + |S|), precision = |A & P| / |A|, recall = |A & S| / |S| (Och and Ney 2003),
    F1 their harmonic mean; counts are summed over the corpus before they are divided. A share of nothing
    counts as perfect: without predicted links precision is 1, without sure links recall is 1, without both AER is 0.

    Raises:
        EvaluationError: not as many predicted as gold alignments.
    """
    ours, theirs = list(predicted), list(gold)
    _require_equal_counts(ours, theirs, "predicted alignments", "gold alignments")
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
