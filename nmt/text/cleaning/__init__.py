"""Which pairs of a parallel corpus are better left out, and by which rule.

What is usual is learnt from the corpus's own pairs: how long one side is beside the other, which script each is
written in, which words are whose. So no rule knows a language, and a corpus that is mostly bad cannot be cleaned.

    for pair, fault in judge(pairs, Rules()):
        print(fault or "kept")
"""

from nmt.text.cleaning.rules import (
    RULE_NAMES,
    Duplicates,
    Fault,
    Rules,
    find_fault,
    invalid,
    judge,
    model_fault,
    score_limit,
)
from nmt.text.cleaning.statistics import CorpusStatistics, RawPair, SpellingModel, learn_statistics

__all__ = [
    "RULE_NAMES",
    "Duplicates",
    "Fault",
    "RawPair",
    "Rules",
    "SpellingModel",
    "CorpusStatistics",
    "model_fault",
    "find_fault",
    "invalid",
    "judge",
    "learn_statistics",
    "score_limit",
]
