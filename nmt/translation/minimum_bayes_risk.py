"""Minimum-Bayes-risk decoding: choosing the translation that agrees most with the other candidates.

sacrebleu is imported on first use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from nmt.evaluation.bleu_and_chrf import sentence_bleu, sentence_chrf

if TYPE_CHECKING:
    from nmt.translation.result import Translation

Utility = Literal["bleu", "chrf"]
"""Sentence BLEU over the orders that the sentence has, or sentence chrF2, both by sacrebleu, 0 to 100."""


def most_agreed(
    candidates: Sequence[Translation], utility: Utility, sampled: bool, tokenize: str = "13a"
) -> Translation:
    """The candidate with the greatest expected utility.

    Args:
        candidates: translations of one sentence.
        utility: see `Utility`.
        sampled: whether the candidates are samples, which weigh equally; hypotheses of a beam weigh by probability.
        tokenize: sacreBLEU's tokenizer for BLEU.
    """
    weights = None if sampled else [candidate.log_probability for candidate in candidates]
    values = expected_utilities([candidate.text for candidate in candidates], utility, weights, tokenize)
    return candidates[values.index(max(values))]


def expected_utilities(
    candidates: Sequence[str],
    utility: Utility,
    log_probabilities: Sequence[float] | None = None,
    tokenize: str = "13a",
) -> list[float]:
    """The mean utility of each candidate, with every candidate in turn as the reference (Kumar and Byrne 2004).

    Args:
        candidates: translations of one sentence.
        utility: see `Utility`.
        log_probabilities: weights of the references, for hypotheses of a beam; None: equal weights, for samples of the
            model (Eikema and Aziz 2020).
        tokenize: sacreBLEU's tokenizer for BLEU.

    Returns:
        One value for each candidate; the best candidate has the greatest.
    """
    weights = np.zeros(len(candidates)) if log_probabilities is None else np.array(log_probabilities, float)
    weights = np.exp(weights - weights.max())
    shares: Counter[str] = Counter()
    for text, weight in zip(candidates, weights / weights.sum(), strict=True):
        shares[text] += weight
    compare = sentence_utility(utility, tokenize)
    of_text = {text: sum(share * compare(text, other) for other, share in shares.items()) for text in shares}
    return [of_text[text] for text in candidates]


@cache
def sentence_utility(utility: Utility, tokenize: str = "13a") -> Callable[[str, str], float]:
    """The function from a translation and a reference to their utility, 0 to 100.

    Raises:
        EvaluationError: sacrebleu lacks the tokenizer for BLEU.
    """
    if utility == "bleu":
        return sentence_bleu(tokenize)
    return sentence_chrf()
