"""Several systems on one test set: scores, and how sure their differences are, by sacrebleu's own tests.

The functions that need sacrebleu import it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.significance import Result

from nmt.evaluation.bleu_and_chrf import bleu_metric, bleu_metric_for, chrf_metric, sentence_bleu, sentence_chrf
from nmt.evaluation.errors import EvaluationError, require_equal_counts
from nmt.files.temporary_directory import some_temporary_directory

Test = Literal["bootstrap", "randomization"]
"""Paired bootstrap resampling (Koehn 2004), or approximate randomization (Riezler and Maxwell 2005)."""

SAMPLES: dict[Test, int] = {"bootstrap": 1000, "randomization": 10_000}
"""Samples of each test unless others are named; sacrebleu's defaults."""

CONFIDENCE_SAMPLES = 1000
"""Bootstrap samples of the intervals beside approximate randomization."""

MOST_MEMORY = 2**32
"""Bytes that the samples of a test may take. sacrebleu holds all of them at once."""

_TYPES: dict[Test, str] = {"bootstrap": "bs", "randomization": "ar"}
_BYTES: dict[Test, int] = {"bootstrap": 8 + 4 * 18, "randomization": 2 + 8}
"""Memory per sample and sentence: the drawn index and chrF's 18 counts; two masks and an index."""


class TestedScore(NamedTuple):
    """A corpus score from 0 to 100 of one system, and its test against the first system."""

    value: float
    mean: float
    """Mean of the bootstrap samples."""
    margin: float
    """Half the width of the 95 % interval around the mean."""
    p_value: float | None
    """How often chance alone makes a difference as large as the one from the first system, two-sided. None for the
    first system, 1 for an equal score."""


class SystemScore(NamedTuple):
    """One system on the test set."""

    name: str
    bleu: TestedScore
    chrf: TestedScore
    words: float
    """Mean words per sentence, by BLEU's tokenizer."""
    length_ratio: float
    """Words of the system per word of the references."""


class SystemComparison(NamedTuple):
    """Systems on one test set, the first one compared with each other one."""

    systems: list[SystemScore]
    signatures: dict[str, str]
    """sacrebleu's signatures of BLEU and chrF2, with the test, its samples and its seed."""


def compare_systems(
    outputs: Mapping[str, Sequence[str]],
    references: Sequence[str],
    tokenize: str = "13a",
    test: Test = "bootstrap",
    samples: int = 0,
    report: Callable[[int], None] = lambda scores: None,
) -> SystemComparison:
    """BLEU and chrF2 of each system with 95 % intervals, and the test of each system against the first.

    Args:
        outputs: translations of each system by its name, two systems or more.
        references: one reference for each translation, in the same order.
        tokenize: sacrebleu's tokenizer for BLEU.
        test: the paired test.
        samples: samples of the test; 0: as in `SAMPLES`.
        report: called after each computed score; `scores_to_compute` of them.

    Raises:
        EvaluationError: different numbers of sentences, no sentences, a tokenizer that sacrebleu lacks, a seed in the
            environment that is no number, or samples that take more than `MOST_MEMORY`.
    """
    with some_temporary_directory():
        from sacrebleu.significance import PairedTest

    samples = samples or SAMPLES[test]
    _require_testable(outputs, references, test, samples)
    metrics = [bleu_metric_for(references, tokenize), chrf_metric()]
    for metric in metrics:
        _watch(metric, report)
    paired = PairedTest(
        [(name, list(output)) for name, output in outputs.items()],
        dict(zip(("BLEU", "chrF2"), metrics, strict=True)),
        [list(references)],
        _TYPES[test],
        samples,
        CONFIDENCE_SAMPLES if test == "randomization" else -1,
    )
    signatures, scores = paired()
    bleu, chrf = (_tested(scores[name]) for name in ("BLEU", "chrF2"))  # type: ignore[arg-type]
    cut = bleu_metric(tokenize).tokenizer
    lengths = [sum(len(cut(text).split()) for text in texts) for texts in (references, *outputs.values())]
    return SystemComparison(
        [
            SystemScore(name, of_bleu, of_chrf, length / len(references), length / max(lengths[0], 1))
            for name, of_bleu, of_chrf, length in zip(outputs, bleu, chrf, lengths[1:], strict=True)
        ],
        {name: str(signature) for name, signature in signatures.items()},
    )


def scores_to_compute(systems: int, test: Test, samples: int = 0) -> int:
    """The number of scores that `compare_systems` computes."""
    samples = samples or SAMPLES[test]
    first = samples if test == "bootstrap" else CONFIDENCE_SAMPLES
    other = 2 * samples + (0 if test == "bootstrap" else CONFIDENCE_SAMPLES)
    return 2 * (1 + first + (systems - 1) * (1 + other))


def _watch(metric: Metric, report: Callable[[int], None]) -> None:
    """Lets a metric report each score that it computes: sacrebleu's test shows no progress."""
    compute = metric._compute_score_from_stats

    def computed(statistics: Any) -> Any:
        report(1)
        return compute(statistics)

    metric._compute_score_from_stats = computed  # type: ignore[assignment, method-assign]


def _tested(results: Sequence[Result]) -> list[TestedScore]:
    """The scores of all systems, the first one first."""
    scores = []
    for result in results:
        p_value = result.p_value
        if p_value is not None and result.score == results[0].score:
            p_value = 1.0  # sacrebleu gives equal scores its least p-value
        assert result.mean is not None and result.ci is not None
        scores.append(TestedScore(float(result.score), float(result.mean), float(result.ci), p_value))
    return scores


def _require_testable(
    outputs: Mapping[str, Sequence[str]], references: Sequence[str], test: Test, samples: int
) -> None:
    if len(outputs) < 2:
        raise EvaluationError("a comparison needs two systems or more")
    for name, output in outputs.items():
        require_equal_counts(output, references, f"translations of {name}", "references")
    if not references:
        raise EvaluationError("no sentences to compare: expected one reference per translation")
    seed = os.environ.get("SACREBLEU_SEED", "")
    if seed and not seed.isdecimal() and seed.lower() != "none":
        raise EvaluationError(f"SACREBLEU_SEED is '{seed}': expected a whole number or none")
    most = MOST_MEMORY // (_BYTES[test] * len(references))
    if samples > most:
        remedy = f"take {most} samples or fewer" if most else "take a part of the sentences"
        raise EvaluationError(
            f"{samples} samples of {len(references)} sentences need more than {MOST_MEMORY >> 30} GiB: {remedy}"
        )


class SentenceScores(NamedTuple):
    """One sentence of the test set, as each system translated it; lists have the order of the systems."""

    line: int
    source: str
    reference: str
    texts: list[str]
    bleu: list[float]
    """Sentence BLEU over the orders that the sentence has, 0 to 100."""
    chrf: list[float]
    """Sentence chrF2, 0 to 100."""
    lengths: list[int]
    """Words by BLEU's tokenizer."""

    @property
    def difference(self) -> float:
        """chrF2 of the second system less chrF2 of the first; with more systems, of the best less of the worst."""
        return self.chrf[1] - self.chrf[0] if len(self.chrf) == 2 else max(self.chrf) - min(self.chrf)


class SentenceScorer:
    """Scores the translations of single sentences by several systems.

    Args:
        tokenize: sacrebleu's tokenizer for BLEU and lengths.

    Raises:
        EvaluationError: sacrebleu lacks the tokenizer.
    """

    def __init__(self, tokenize: str = "13a") -> None:
        self._bleu, self._chrf = sentence_bleu(tokenize), sentence_chrf()
        self._cut = bleu_metric(tokenize).tokenizer

    def __call__(self, line: int, source: str, reference: str, texts: Sequence[str]) -> SentenceScores:
        """The scores of a sentence; an empty translation of an empty reference has 100."""
        same = [not text.split() and not reference.split() for text in texts]
        bleu, chrf = (
            [100.0 if empty else score(text, reference) for empty, text in zip(same, texts, strict=True)]
            for score in (self._bleu, self._chrf)
        )
        lengths = [len(self._cut(text).split()) for text in texts]
        return SentenceScores(line, source, reference, list(texts), bleu, chrf, lengths)


def most_different(sentences: Sequence[SentenceScores], most: int) -> list[SentenceScores]:
    """The sentences whose translations differ most in chrF2, the largest difference first.

    Sentences that all systems translate equally well are left out. Sentences with equal chrF2, which does not see
    spaces, follow by their difference in BLEU.
    """
    spread = {id(one): (abs(one.difference), max(one.bleu) - min(one.bleu)) for one in sentences}
    apart = [one for one in sentences if any(spread[id(one)])]
    return sorted(apart, key=lambda one: spread[id(one)], reverse=True)[:most]


def wins(sentences: Sequence[SentenceScores]) -> list[int]:
    """For each system, the sentences for which it alone has the best chrF2."""
    best = [max(one.chrf) for one in sentences]
    alone = [one for one, top in zip(sentences, best, strict=True) if one.chrf.count(top) == 1]
    return [sum(one.chrf[system] == max(one.chrf) for one in alone) for system in range(len(sentences[0].chrf))]
