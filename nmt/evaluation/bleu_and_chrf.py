"""BLEU and chrF of translations, by sacrebleu.

The functions that need sacrebleu import it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

from nmt.evaluation.errors import EvaluationError, require_equal_counts
from nmt.files.temporary_directory import some_temporary_directory


class CorpusScore(NamedTuple):
    """A corpus score from 0 to 100, with sacrebleu's signature: the settings of its computation (Post 2018)."""

    name: str
    value: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value:.2f} ({self.signature})"


def bleu(hypotheses: Iterable[str], references: Iterable[str], tokenize: str = "13a") -> CorpusScore:
    """Corpus BLEU (Papineni et al. 2002) of detokenized translations with one reference each.

    BLEU of right translations would be 0 if no reference has four words. Then it counts only the orders that the
    translations have, and the signature says so.

    Args:
        hypotheses: translations.
        references: one reference for each translation, in the same order.
        tokenize: sacrebleu's tokenizer for both sides; `none` for tokenized text.

    Raises:
        EvaluationError: different numbers of sentences, no sentences, or a tokenizer that sacrebleu lacks.
    """
    found, expected = _paired(list(hypotheses), list(references))
    return _score(bleu_metric_for(expected, tokenize), found, expected)


def bleu_metric_for(references: Sequence[str], tokenize: str = "13a") -> BLEU:
    """sacrebleu's BLEU for these references; it counts only the orders that translations have if none has four words.

    Raises:
        EvaluationError: sacrebleu lacks the tokenizer.
    """
    metric = bleu_metric(tokenize)
    if all(len(metric.tokenizer(reference).split()) < metric.max_ngram_order for reference in references):
        return bleu_metric(tokenize, effective_order=True)
    return metric


def sentence_bleu(tokenize: str = "13a") -> Callable[[str, str], float]:
    """The function from a translation and a reference to BLEU over the orders that the sentence has, 0 to 100.

    Raises:
        EvaluationError: sacrebleu lacks the tokenizer.
    """
    metric = bleu_metric(tokenize, effective_order=True)
    return lambda hypothesis, reference: metric.sentence_score(hypothesis, [reference]).score


def sentence_chrf() -> Callable[[str, str], float]:
    """The function from a translation and a reference to chrF2, 0 to 100."""
    metric = chrf_metric()
    return lambda hypothesis, reference: metric.sentence_score(hypothesis, [reference]).score


def require_tokenizer(tokenize: str) -> None:
    """Refuses a tokenizer that `bleu` would refuse, before any time is spent on translations.

    Raises:
        EvaluationError: sacrebleu lacks the tokenizer.
    """
    bleu_metric(tokenize)


def bleu_metric(tokenize: str = "13a", effective_order: bool = False) -> BLEU:
    """sacrebleu's BLEU with nmt's settings.

    Args:
        tokenize: sacrebleu's tokenizer.
        effective_order: count only the orders that the translations have, as scores of single sentences do.

    Raises:
        EvaluationError: sacrebleu lacks the tokenizer.
    """
    with some_temporary_directory():
        from sacrebleu.metrics.bleu import BLEU

    if tokenize not in BLEU.TOKENIZERS:
        raise EvaluationError(f"tokenize is '{tokenize}': expected one of {', '.join(BLEU.TOKENIZERS)}")
    try:
        # force: no warning for text that looks tokenized; the signature has the tokenizer.
        return BLEU(tokenize=tokenize, force=True, effective_order=effective_order)
    except (RuntimeError, ImportError, OSError) as error:  # a tokenizer that needs a package or a download
        raise EvaluationError(f"tokenize is '{tokenize}': {' '.join(str(error).split())}") from None


def chrf(hypotheses: Iterable[str], references: Iterable[str]) -> CorpusScore:
    """Corpus chrF2 (Popovic 2015: character n-grams up to 6, beta 2) with one reference each.

    Raises:
        EvaluationError: different numbers of sentences, or no sentences.
    """
    return _score(chrf_metric(), *_paired(list(hypotheses), list(references)))


def chrf_metric() -> CHRF:
    """sacrebleu's chrF2: character n-grams up to 6, beta 2."""
    with some_temporary_directory():
        from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def _paired(hypotheses: list[str], references: list[str]) -> tuple[list[str], list[str]]:
    require_equal_counts(hypotheses, references, "translations", "references")
    if not references:
        raise EvaluationError("no sentences to score: expected at least one translation and its reference")
    return hypotheses, references


def _score(metric: Metric, hypotheses: list[str], references: list[str]) -> CorpusScore:
    result = metric.corpus_score(hypotheses, [references])
    return CorpusScore(result.name, result.score, str(metric.get_signature()))
