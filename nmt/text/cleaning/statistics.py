"""Statistics of a corpus that its pairs are compared with: lengths, scripts, words, spelling."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from nmt.text.cleaning.features import count_characters, scripts_of, trigrams_of, words_of
from nmt.text.formats import MalformedRow
from nmt.text.spread_sample import SpreadSample

LONG = 8
"""Characters of the longest word that counts as one word."""

RawPair = tuple[bytes, bytes]
"""Source and target as bytes, without line ends."""


class SpellingModel:
    """The spelling of one side of a corpus: a trigram model of its letters and spaces, case-folded.

    p(c | a b) = (n(a b c) + m p(c)) / (n(a b) + m), a Dirichlet prior (after MacKay and Peto 1995, "A Hierarchical
    Dirichlet Language Model"), with m = `PRIOR` fixed and p(c) by add-one.

    A sentence of the corpus is measured by a model of the other sentences, as an unseen sentence would be. For that,
    each of its trigrams counts once less. (Subtracting every occurrence is slower and changes little.)

    A few hundred sentences of a third language would make its trigrams usual. So the model is learned from all
    sentences first. It is then learned again, `ROUNDS` times, without the most surprising share `TRIMMED`: the
    concentration steps of least trimmed squares (Rousseeuw and Van Driessen 2006).

    Args:
        texts: the sentences of that side; blank sentences are ignored. Of equal sentences one counts, because the
            others would make its spelling usual.
    """

    LEAST = 5000
    """Characters that the model must have seen before it judges; with fewer, most good words are surprising."""
    PRIOR = 2.0
    DOUBT = 10
    """Characters of usual surprise added to each sentence: a short sentence may be a name or an exclamation."""
    ROUNDS = 2
    TRIMMED = 0.2
    NAMES = 1 / 3
    """Share of a sentence's words, the most surprising ones, that `excess_without_names` leaves out."""
    NAMES_DOUBT = 20
    """As `DOUBT`, for `excess_without_names`."""

    def __init__(self, texts: Iterable[str]) -> None:
        kept = list(dict.fromkeys(text for text in texts if text.strip()))
        excesses = self._learn(kept, [True] * len(kept))
        for _ in range(self.ROUNDS):
            limit = _quantile(excesses, 1 - self.TRIMMED)
            excesses = self._learn(kept, [excess <= limit for excess in excesses])
        self.spread = -_quantile(excesses, 0.1)
        """Nats per character by which the least surprising tenth of the sentences falls below `usual`."""

    def _learn(self, texts: Sequence[str], inside: Sequence[bool]) -> list[float]:
        """Learns from the texts that are `inside`; returns each text's excess by a model of the other texts."""
        trigrams: Counter[str] = Counter()
        for text, counts in zip(texts, inside, strict=True):
            if counts:
                trigrams.update(trigrams_of(text))
        self._contexts: Counter[str] = Counter()
        self._characters: Counter[str] = Counter()
        for trigram, count in trigrams.items():
            self._contexts[trigram[:2]] += count
            self._characters[trigram[2]] += count
        self._total = self._characters.total() + len(self._characters) + 1
        self._seen = {trigram: self._log_probability(trigram, count) for trigram, count in trigrams.items()}
        elsewhere = {trigram: self._log_probability(trigram, count, 1) for trigram, count in trigrams.items()}
        means = []
        for text, counts in zip(texts, inside, strict=True):
            found = trigrams_of(text)
            means.append((self._mean(found, elsewhere if counts else self._seen), len(found)))
        self.usual = _median([mean for mean, _ in means], 0.0)
        """The median over the sentences, in nats per character."""
        return [self._excess(mean, length) for mean, length in means]

    def excess(self, text: str) -> float:
        """Nats per character above `usual`, over the sentence and `DOUBT` usual characters.

        A sentence that the model was learned from has a lower excess than an unseen sentence.
        """
        trigrams = trigrams_of(text)
        return self._excess(self._mean(trigrams, self._seen), len(trigrams))

    def excess_without_names(self, text: str) -> float:
        """The excess without the most surprising third of the words.

        A few foreign names or rare words make a whole sentence surprising. In a sentence of another language the rest
        is surprising too. Long words count as several, so that scripts without spaces have words.
        """
        excesses = [
            (sum(-self._known(trigram) - self.usual for trigram in word), len(word))
            for word in _words(trigrams_of(text))
        ]
        rest = sorted(excesses, reverse=True)[ceil(len(excesses) * self.NAMES) :]
        return sum(excess for excess, _ in rest) / (sum(length for _, length in rest) + self.NAMES_DOUBT)

    @property
    def is_sure(self) -> bool:
        """Whether the model has seen enough text to judge."""
        return self._characters.total() >= self.LEAST

    def limit(self, nats: float) -> float:
        """The highest excess of an ordinary sentence: `nats` per character, or more in a corpus with a large spread.

        Scripts with thousands of characters have a large spread.
        """
        return max(nats, 3 * self.spread)

    def _excess(self, mean: float, length: int) -> float:
        return (mean - self.usual) * length / (length + self.DOUBT)

    def _mean(self, trigrams: Sequence[str], known: dict[str, float]) -> float:
        return -sum(known[t] if t in known else self._log_probability(t, 0) for t in trigrams) / len(trigrams)

    def _known(self, trigram: str) -> float:
        """The log-probability of a trigram, seen or not."""
        return self._seen[trigram] if trigram in self._seen else self._log_probability(trigram, 0)

    def _log_probability(self, trigram: str, count: int, less: int = 0) -> float:
        prior = self.PRIOR * (self._characters[trigram[2]] + 1) / self._total
        return math.log((count - less + prior) / (self._contexts[trigram[:2]] - less + self.PRIOR))


@dataclass(frozen=True)
class CorpusStatistics:
    """The usual properties of a corpus's pairs."""

    source_script: str
    """The script of most letters of the source side; "" without letters."""
    target_script: str
    length: float
    """Target characters for each source character, the median over the pairs."""
    leaning: dict[str, float]
    """ln p(word | target side) / p(word | source side) for each word of the corpus."""
    source_spelling: SpellingModel
    target_spelling: SpellingModel

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> CorpusStatistics:
        """The statistics of these pairs. Blank sides are ignored; a few bad pairs change little."""
        scripts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        words: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        lengths, texts = [], list(pairs)
        for pair in texts:
            for text, letters, counted in zip(pair, scripts, words, strict=True):
                letters.update(scripts_of(text))
                counted.update(words_of(text))
            source, target = map(count_characters, pair)
            if source and target:
                lengths.append(target / source)
        spellings = [SpellingModel(pair[side] for pair in texts) for side in (0, 1)]
        return cls(
            _most_common(scripts[0]), _most_common(scripts[1]), _median(lengths, 1.0), _leaning(*words), *spellings
        )


def learn_statistics(pairs: Iterable[RawPair | MalformedRow], count: int) -> CorpusStatistics:
    """The statistics of a sample of pairs spread evenly over a corpus: at most `count`, and at least half as many."""
    sample: SpreadSample[RawPair] = SpreadSample(count)
    deque(sample.over(without_malformed(pairs)), maxlen=0)
    return CorpusStatistics.of(map(decode_pair, sample.kept))


def without_malformed(rows: Iterable[RawPair | MalformedRow]) -> Iterator[RawPair]:
    """The rows that are pairs."""
    return (row for row in rows if not isinstance(row, MalformedRow))


def decode_pair(pair: RawPair) -> tuple[str, str]:
    """The pair as text; invalid bytes become surrogates."""
    source, target = (text.decode("utf-8", errors="surrogateescape") for text in pair)
    return source, target


def _words(trigrams: Sequence[str]) -> list[list[str]]:
    """The trigrams of each word, its end included. Words of more than `LONG` characters are cut into halves of it."""
    words: list[list[str]] = [[]]
    for trigram in trigrams:
        if len(words[-1]) == LONG and trigram[2] != " ":
            words[-1:] = [words[-1][: LONG // 2], words[-1][LONG // 2 :]]
        words[-1].append(trigram)
        if trigram[2] == " ":
            words.append([])
    return [word for word in words if word]


def _median(values: Sequence[float], otherwise: float) -> float:
    return sorted(values)[len(values) // 2] if values else otherwise


def _quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values are below; 0 without values."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0.0


def _most_common(counts: Counter[str]) -> str:
    return counts.most_common(1)[0][0] if counts else ""


def _leaning(source: Counter[str], target: Counter[str]) -> dict[str, float]:
    """The leaning of each word by add-one estimates: a word seen once leans by ln 2 only."""
    words = source.keys() | target.keys()
    sizes = math.log((source.total() + len(words)) / (target.total() + len(words))) if words else 0.0
    return {word: math.log((target[word] + 1) / (source[word] + 1)) + sizes for word in words}
