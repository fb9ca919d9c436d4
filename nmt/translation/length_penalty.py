"""Which length penalty ranks a model's hypotheses best, by sentences whose translations are known.

By how much a model's likeliest translations are too short differs from model to model (Murray and Chiang 2018), and
BLEU's brevity penalty takes all of it. A beam that is followed until all its hypotheses have ended is the same whatever
ranks it, so one search serves all penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from keras import ops

from nmt.config import SearchConfig
from nmt.evaluation.bleu_and_chrf import CorpusScore
from nmt.search import length_penalty
from nmt.search.penalties import Normalization
from nmt.text.pieces import EOS, SPECIAL_PIECES

if TYPE_CHECKING:
    from nmt.translation.result import Translation

END = SPECIAL_PIECES[EOS]

LAST = -1e9
"""What a hypothesis pays that did not end by itself: more than any score, not so much that scores are lost in it."""

STEPS = 5
"""Exponents that are tried from one whole number to the next."""

GREATEST: dict[Normalization, int] = {"wu": 3, "power": 2}
"""Highest exponent that is tried. A long translation's penalties are alike in both forms, a short one's are not."""


class Penalty(NamedTuple):
    """A length penalty, see `SearchConfig`."""

    normalization: Normalization
    length_penalty: float

    @classmethod
    def of(cls, search: SearchConfig) -> Penalty:
        """What this search ranks by."""
        return cls(search.normalization, search.length_penalty)

    def within(self, search: SearchConfig) -> SearchConfig:
        """This search with this penalty."""
        return replace(search, **self._asdict())


class Trial(NamedTuple):
    """What the translations are worth that a penalty ranks first."""

    penalty: Penalty
    score: CorpusScore
    words: float
    """Of the translations, as a share of the references'."""


def penalties(search: SearchConfig) -> list[Penalty]:
    """What is tried: first the search's own, then exponents of both forms; without any they are one."""
    own = Penalty.of(search)
    tried = [
        Penalty(kind, step / STEPS)
        for kind, greatest in GREATEST.items()
        for step in range(kind == "power", greatest * STEPS + 1)
    ]
    return [own, *(penalty for penalty in tried if penalty != own)]


@dataclass(frozen=True)
class Lists:
    """The hypotheses of all sentences, one sentence after the other."""

    texts: list[str]
    log_probabilities: np.ndarray
    """[hypotheses]."""
    lengths: np.ndarray
    """In pieces, [hypotheses]."""
    rest: np.ndarray
    """What ranks besides the log-probability and its penalty: coverage, and whether it ended by itself,
    [hypotheses]."""
    ends: list[int]
    """Where the hypotheses of each sentence end."""

    @classmethod
    def of(cls, found: Iterable[Sequence[Translation]], search: SearchConfig) -> Lists:
        """From the n-best lists that this search gave."""
        counts, texts, numbers = [], [], []
        for translations in found:
            counts.append(len(translations))
            for one in translations:
                texts.append(one.text)
                ended = not one.pieces or one.pieces[-1] == END
                numbers.append((one.log_probability, max(len(one.pieces), 1), one.score, 0 if ended else LAST))
        log_probabilities, lengths, scores, last = np.array(numbers, float).reshape(-1, 4).T
        rest = scores - _normalized(log_probabilities, lengths, Penalty.of(search)) + last
        return cls(texts, log_probabilities, lengths, rest, np.cumsum(counts).tolist())

    def best(self, penalty: Penalty) -> list[str]:
        """The text of each sentence that ranks first with this penalty."""
        scores = _normalized(self.log_probabilities, self.lengths, penalty) + self.rest
        spans = pairwise([0, *self.ends])
        return [self.texts[begin + int(np.argmax(scores[begin:end]))] for begin, end in spans]


def _normalized(log_probabilities: np.ndarray, lengths: np.ndarray, penalty: Penalty) -> np.ndarray:
    divisor = length_penalty(lengths, penalty.length_penalty, penalty.normalization)
    return log_probabilities / ops.convert_to_numpy(divisor)


def trials(
    lists: Lists,
    references: Sequence[str],
    search: SearchConfig,
    measure: Callable[[Sequence[str], Sequence[str]], CorpusScore],
) -> Iterator[Trial]:
    """Every penalty with what its first translations are worth, the search's own first."""
    words = max(sum(len(line.split()) for line in references), 1)
    for penalty in penalties(search):
        texts = lists.best(penalty)
        share = sum(len(text.split()) for text in texts) / words
        yield Trial(penalty, measure(texts, references), share)


def best(found: Iterable[Trial]) -> Trial:
    """The trial of the highest score, of several such the first."""
    return max(found, key=lambda trial: trial.score.value)
