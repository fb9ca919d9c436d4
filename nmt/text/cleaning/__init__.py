"""Which pairs of a parallel corpus are better left out, and by which rule.

What is usual is learnt from the corpus's own pairs: how long one side is beside the other, which script each is
written in, which words are whose. So no rule knows a language, and a corpus that is mostly bad cannot be cleaned.

    for pair, fault in judge(pairs, Rules()):
        print(fault or "kept")
"""

from nmt.text.cleaning.rules import NAMES, Duplicates, Fault, Rules, above, find_fault, invalid, judge, limit_of_worst
from nmt.text.cleaning.usual import RawPair, Spelling, Usual, learn

__all__ = [
    "NAMES",
    "Duplicates",
    "Fault",
    "RawPair",
    "Rules",
    "Spelling",
    "Usual",
    "above",
    "find_fault",
    "invalid",
    "judge",
    "learn",
    "limit_of_worst",
]
