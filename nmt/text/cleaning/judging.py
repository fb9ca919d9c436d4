"""Judging the pairs of a corpus: by the rules, by duplicates, by the scores of a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Literal

from nmt.text.cleaning.duplicates import Duplicates
from nmt.text.cleaning.faults import Fault
from nmt.text.cleaning.rules import find_fault, invalid
from nmt.text.cleaning.settings import Rules
from nmt.text.cleaning.statistics import CorpusStatistics, RawPair, decode_pair, without_malformed
from nmt.text.errors import CorpusError
from nmt.text.formats import MalformedRow


def judge(
    pairs: Iterable[RawPair | MalformedRow], rules: Rules, statistics: CorpusStatistics | None = None
) -> Iterator[tuple[RawPair, Fault | None]]:
    """Each pair, in order and unchanged, with the fault that the first matching rule finds; None for a good pair.

    A row that is no pair has two empty sides here.

    The pairs are streamed. Memory holds a hash of each good pair and, without `statistics`, the sample at the start.

    Args:
        pairs: the corpus.
        rules: the settings of the rules.
        statistics: the corpus's statistics; None: those of its first `rules.sample` pairs.
    """
    rest, copies = iter(pairs), Duplicates(rules.duplicates)
    sample = list(islice(rest, rules.sample)) if statistics is None else []
    statistics = statistics or CorpusStatistics.of(map(decode_pair, without_malformed(sample)))
    for pair in chain(sample, rest):
        if isinstance(pair, MalformedRow):
            yield (b"", b""), _malformed(pair, rules)
            continue
        fault = invalid(pair) if rules.invalid else None
        if fault is None:
            source, target = decode_pair(pair)
            fault = find_fault(source, target, rules, statistics) or copies.find(source, target)
        yield pair, fault


def _malformed(row: MalformedRow, rules: Rules) -> Fault:
    """The fault of a row that is no pair.

    Raises:
        CorpusError: the rules do not drop such rows.
    """
    if not rules.malformed:
        raise CorpusError(f"{row.problem} (--malformed leaves such rows out)")
    return Fault("malformed", row.problem)


def score_limit(scores: Sequence[float], share: float) -> float:
    """The limit that the highest `share` of the scores exceeds. NaN is not counted as a score.

    Equal scores are kept or dropped together, so fewer than `share` of the scores may exceed the limit.
    """
    known = sorted((score for score in scores if not math.isnan(score)), reverse=True)
    place = round(share * len(known))
    return known[place] if place < len(known) else -math.inf


def judge_by_scores(
    judged: Iterable[tuple[RawPair, Fault | None]],
    rule: Literal["unusual", "unlikely"],
    scores: Iterable[float],
    limit: float,
) -> Iterator[tuple[RawPair, Fault | None]]:
    """Passes judged pairs on. A pair that the rules keep has a fault if its score by a model exceeds the limit.

    Args:
        judged: from `judge`.
        rule: the kind of score: `unusual` as in `nmt explain`, `unlikely` in nats per target piece.
        scores: one for each pair without a fault; NaN for a pair without a score, which has no fault.
        limit: the highest score of a good pair.
    """
    rest = iter(scores)
    for pair, fault in judged:
        if fault is None and (score := next(rest)) > limit:
            fault = Fault(rule, score, limit)
        yield pair, fault
