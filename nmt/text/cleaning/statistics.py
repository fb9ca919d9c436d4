"""What is usual in a corpus, learnt from its own pairs: lengths, scripts, words, spelling."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nmt.text.cleaning.features import count_characters, scripts_of, trigrams_of, words_of

RawPair = tuple[bytes, bytes]
"""Source and target as they stand in their files, without the ends of the lines."""


class SpellingModel:
    """How the words of a side are spelt: a trigram model of its letters and spaces, case folded.

    p(c | a b) = (n(a b c) + m p(c)) / (n(a b) + m), a Dirichlet prior (after MacKay and Peto 1995, "A Hierarchical
    Dirichlet Language Model"), with m = `PRIOR` fixed and p(c) by add-one.

    What is usual is asked of what the other sentences teach, as one is judged that was not learnt from: each trigram of
    a sentence counts once less (not as often as it is there: nearly the same, and quicker). And a few hundred sentences
    of a third language are enough for its trigrams to be no surprise. So the model is learnt from all sentences first,
    and then, `ROUNDS` times, from those that were not the most surprising `TRIMMED` (least trimmed squares, Rousseeuw
    and Van Driessen 2006, go on in such steps).

    Args:
        texts: sentences of that side; blank ones say nothing.
    """

    PRIOR = 2.0
    DOUBT = 10
    """Characters of the usual surprise that are added to each sentence: a short one may be a name or a cry."""
    ROUNDS = 2
    TRIMMED = 0.2

    def __init__(self, texts: Iterable[str]) -> None:
        kept = [text for text in texts if text.strip()]
        excesses = self._learn(kept, [True] * len(kept))
        for _ in range(self.ROUNDS):
            limit = _quantile(excesses, 1 - self.TRIMMED)
            excesses = self._learn(kept, [excess <= limit for excess in excesses])
        self.spread = -_quantile(excesses, 0.1)
        """Nats a character by which the least surprising tenth of the sentences lies under what is usual."""

    def _learn(self, texts: Sequence[str], inside: Sequence[bool]) -> list[float]:
        """Counts the trigrams of the texts that are inside; returns the excess of each by what the others teach."""
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
        told = []
        for text, counts in zip(texts, inside, strict=True):
            found = trigrams_of(text)
            told.append((self._mean(found, elsewhere if counts else self._seen), len(found)))
        self.usual = _median([mean for mean, _ in told], 0.0)
        """Nats a character: the median over the sentences."""
        return [self._excess(mean, length) for mean, length in told]

    def excess(self, text: str) -> float:
        """Nats a character more than usual, over the sentence and `DOUBT` characters as usual; less of what was learnt
        from."""
        trigrams = trigrams_of(text)
        return self._excess(self._mean(trigrams, self._seen), len(trigrams))

    def limit(self, nats: float) -> float:
        """The excess from which a sentence is out of the ordinary: so many nats a character, or more where sentences
        differ more, as they do where there are thousands of characters."""
        return max(nats, 3 * self.spread)

    def _excess(self, mean: float, length: int) -> float:
        return (mean - self.usual) * length / (length + self.DOUBT)

    def _mean(self, trigrams: Sequence[str], known: dict[str, float]) -> float:
        return -sum(known[t] if t in known else self._log_probability(t, 0) for t in trigrams) / len(trigrams)

    def _log_probability(self, trigram: str, count: int, less: int = 0) -> float:
        prior = self.PRIOR * (self._characters[trigram[2]] + 1) / self._total
        return math.log((count - less + prior) / (self._contexts[trigram[:2]] - less + self.PRIOR))


@dataclass(frozen=True)
class CorpusStatistics:
    """What is usual in a corpus."""

    source_script: str
    """Of most of the source's letters; "" where there are none."""
    target_script: str
    length: float
    """Target characters for each source character: the median over the pairs."""
    leaning: dict[str, float]
    """ln p(word | target side) / p(word | source side) of each word that was seen."""
    source_spelling: SpellingModel
    target_spelling: SpellingModel

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> CorpusStatistics:
        """Learns it from pairs, a blank side of which says nothing; a few bad ones do not matter."""
        scripts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        words: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        lengths, texts = [], list(pairs)
        for pair in texts:
            for text, letters, said in zip(pair, scripts, words, strict=True):
                letters.update(scripts_of(text))
                said.update(words_of(text))
            source, target = map(count_characters, pair)
            if source and target:
                lengths.append(target / source)
        spellings = [SpellingModel(pair[side] for pair in texts) for side in (0, 1)]
        return cls(_most(scripts[0]), _most(scripts[1]), _median(lengths, 1.0), _leaning(*words), *spellings)


def learn_statistics(pairs: Iterable[RawPair], count: int) -> CorpusStatistics:
    """What is usual in a corpus, from at most `count` of its pairs and at least half as many, spread evenly over it."""
    kept: list[RawPair] = []
    step = 1
    for place, pair in enumerate(pairs):
        if place % step == 0:
            if len(kept) == count > 1:
                kept, step = kept[::2], 2 * step
                if place % step:
                    continue
            if len(kept) < count:
                kept.append(pair)
    return CorpusStatistics.of(map(decoded, kept))


def decoded(pair: RawPair) -> tuple[str, str]:
    source, target = (text.decode("utf-8", errors="surrogateescape") for text in pair)
    return source, target


def _median(values: Sequence[float], otherwise: float) -> float:
    return sorted(values)[len(values) // 2] if values else otherwise


def _quantile(values: Sequence[float], share: float) -> float:
    """Of the values this share is less; 0 of none."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0.0


def _most(counts: Counter[str]) -> str:
    return counts.most_common(1)[0][0] if counts else ""


def _leaning(source: Counter[str], target: Counter[str]) -> dict[str, float]:
    """Add-one estimates, so that a word seen once leans by ln 2 only."""
    words = source.keys() | target.keys()
    sizes = math.log((source.total() + len(words)) / (target.total() + len(words))) if words else 0.0
    return {word: math.log((target[word] + 1) / (source[word] + 1)) + sizes for word in words}
