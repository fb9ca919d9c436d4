"""Rules that find the bad pairs of a parallel corpus.

The rules compare each pair with statistics of the corpus itself: the ratio of the lengths, and the script, words and
spelling of each side. So no rule knows a language, and a corpus of mostly bad pairs cannot be cleaned.

    for pair, fault in judge(pairs, Rules()):
        print(fault or "kept")
"""

from nmt.text.cleaning.duplicates import Duplicates
from nmt.text.cleaning.faults import RULE_NAMES, Fault
from nmt.text.cleaning.judging import judge, judge_by_scores, score_limit
from nmt.text.cleaning.rules import find_fault, invalid
from nmt.text.cleaning.settings import Rules
from nmt.text.cleaning.statistics import CorpusStatistics, RawPair, SpellingModel, learn_statistics

__all__ = [
    "RULE_NAMES",
    "Duplicates",
    "Fault",
    "RawPair",
    "Rules",
    "SpellingModel",
    "CorpusStatistics",
    "find_fault",
    "invalid",
    "judge",
    "judge_by_scores",
    "learn_statistics",
    "score_limit",
]
