"""The length penalty that ranks a model's hypotheses best, measured on sentences with known translations.

A model's most probable translations are too short, by an amount that differs between models (Murray and Chiang 2018);
BLEU's brevity penalty punishes it. A beam whose hypotheses have all ended holds the same hypotheses under any ranking,
so one search serves all penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nmt.backend import ops
from nmt.config import SearchConfig
from nmt.evaluation.bleu_and_chrf import CorpusScore
from nmt.search import length_penalty
from nmt.search.length_and_coverage_penalty import Normalization
from nmt.text.pieces import EOS, SPECIAL_PIECES

if TYPE_CHECKING:
    from nmt.translation.result import Translation

END = SPECIAL_PIECES[EOS]

UNFINISHED = -1e9
"""Added to the score of a hypothesis without an end: below all other scores, yet small enough to keep their digits."""

STEPS = 5
"""Exponents that are measured between one whole number and the next."""

GREATEST: dict[Normalization, int] = {"wu": 3, "power": 2}
"""Highest exponent that is measured. On long translations both forms of the penalty are alike, on short ones not."""


class Penalty(NamedTuple):
    """A length penalty; see `SearchConfig`."""

    normalization: Normalization
    length_penalty: float

    @classmethod
    def of(cls, search: SearchConfig) -> Penalty:
        """The penalty of a search."""
        return cls(search.normalization, search.length_penalty)

    def within(self, search: SearchConfig) -> SearchConfig:
        """The search with this penalty."""
        return replace(search, **self._asdict())


class PenaltyScore(NamedTuple):
    """The score of the translations that a penalty ranks first."""

    penalty: Penalty
    score: CorpusScore
    length_ratio: float
    """Words of the translations divided by words of the references."""


def penalties(search: SearchConfig) -> list[Penalty]:
    """The penalties to measure: the search's own first, then exponents of both forms from 0, which both share."""
    own = Penalty.of(search)
    others = [
        Penalty(kind, step / STEPS)
        for kind, greatest in GREATEST.items()
        for step in range(kind == "power", greatest * STEPS + 1)
    ]
    return [own, *(penalty for penalty in others if penalty != own)]


@dataclass(frozen=True)
class NbestLists:
    """The hypotheses of all sentences, one sentence after the other."""

    texts: list[str]
    log_probabilities: np.ndarray
    """[hypotheses], in nats."""
    lengths: np.ndarray
    """[hypotheses], in pieces."""
    rest: np.ndarray
    """[hypotheses]: the score's other terms, which are the coverage penalty and `UNFINISHED`."""
    ends: list[int]
    """Index behind the last hypothesis of each sentence."""

    @classmethod
    def of(cls, found: Iterable[Sequence[Translation]], search: SearchConfig) -> NbestLists:
        """The lists that a search found.

        Args:
            found: the translations of each sentence; may be a stream.
            search: the search that found them.
        """
        counts, texts, numbers = [], [], []
        for translations in found:
            counts.append(len(translations))
            for one in translations:
                texts.append(one.text)
                ended = not one.pieces or one.pieces[-1] == END
                numbers.append((one.log_probability, max(len(one.pieces), 1), one.score, 0 if ended else UNFINISHED))
        log_probabilities, lengths, scores, unfinished = np.array(numbers, float).reshape(-1, 4).T
        rest = scores - _normalized(log_probabilities, lengths, Penalty.of(search)) + unfinished
        return cls(texts, log_probabilities, lengths, rest, np.cumsum(counts).tolist())

    def best(self, penalty: Penalty) -> list[str]:
        """The text of each sentence that this penalty ranks first."""
        scores = _normalized(self.log_probabilities, self.lengths, penalty) + self.rest
        spans = pairwise([0, *self.ends])
        return [self.texts[begin + int(np.argmax(scores[begin:end]))] for begin, end in spans]


def _normalized(log_probabilities: np.ndarray, lengths: np.ndarray, penalty: Penalty) -> np.ndarray:
    divisor = length_penalty(lengths, penalty.length_penalty, penalty.normalization)
    return log_probabilities / ops.convert_to_numpy(divisor)


def score_penalties(
    lists: NbestLists,
    references: Sequence[str],
    search: SearchConfig,
    measure: Callable[[Sequence[str], Sequence[str]], CorpusScore],
    words: Callable[[str], list[str]] = str.split,
) -> Iterator[PenaltyScore]:
    """Yields the score of each penalty, the search's own first.

    Args:
        lists: the hypotheses of each sentence.
        references: the known translation of each sentence.
        search: the search that found the lists.
        measure: the score of translations, given them and the references.
        words: cuts a sentence of the target language into words.
    """
    of_references = max(sum(len(words(line)) for line in references), 1)
    for penalty in penalties(search):
        texts = lists.best(penalty)
        ratio = sum(len(words(text)) for text in texts) / of_references
        yield PenaltyScore(penalty, measure(texts, references), ratio)


def best_penalty(scores: Iterable[PenaltyScore]) -> PenaltyScore:
    """The highest score; of equal scores the first."""
    return max(scores, key=lambda one: one.score.value)
