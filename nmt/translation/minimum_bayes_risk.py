"""Minimum-Bayes-risk decoding: of several translations the one that the others agree with most.

sacrebleu is imported when it is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

import numpy as np

Utility = Literal["bleu", "chrf"]


def expected_utilities(
    candidates: Sequence[str], utility: Utility, log_probabilities: Sequence[float] | None = None
) -> list[float]:
    """The mean utility of each candidate where every candidate may be the reference (Kumar and Byrne 2004).

    Args:
        candidates: translations of one sentence.
        utility: sentence BLEU (with orders that the sentence has) or sentence chrF2 of sacrebleu, 0 to 100.
        log_probabilities: of the candidates as references, for a list of the best; None: all count alike, as samples
            of the model do (Eikema and Aziz 2020).

    Returns:
        A number for each candidate; the greatest is that of the one to choose.
    """
    weights = np.zeros(len(candidates)) if log_probabilities is None else np.array(log_probabilities, float)
    weights = np.exp(weights - weights.max())
    shares: Counter[str] = Counter()
    for text, weight in zip(candidates, weights / weights.sum(), strict=True):
        shares[text] += weight
    compare = metric(utility)
    of_text = {text: sum(share * compare(text, other) for other, share in shares.items()) for text in shares}
    return [of_text[text] for text in candidates]


@cache
def metric(utility: Utility) -> Callable[[str, str], float]:
    """From a translation and a reference to their sentence BLEU or chrF2, 0 to 100."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    scorer = BLEU(effective_order=True) if utility == "bleu" else CHRF()
    return lambda hypothesis, reference: scorer.sentence_score(hypothesis, [reference]).score
