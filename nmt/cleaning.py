"""Which pairs of a parallel corpus are better left out, and by which rule.

What is usual is learnt from the corpus's own pairs: how long one side is beside the other, which script each is
written in, which words are whose. So no rule knows a language, and a corpus that is mostly bad cannot be cleaned.

    for pair, fault in judge(pairs, Rules()):
        print(fault or "kept")
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import Literal, NamedTuple

from nmt.errors import NmtError

RawPair = tuple[bytes, bytes]
"""Source and target as they stand in their files, without the ends of the lines."""

NAMES = (
    "invalid",
    "empty",
    "short",
    "long",
    "ratio",
    "identical",
    "script",
    "language",
    "spelling",
    "numbers",
    "duplicate",
    "unusual",
    "unlikely",
)
"""Of the rules, in the order in which they are asked; the last two are a model's."""


@dataclass(frozen=True)
class Rules:
    """What makes a pair bad. A number of 0 switches its rule off."""

    invalid: bool = True
    """drop pairs with a side that is not valid UTF-8"""
    empty: bool = True
    """drop pairs with an empty side; otherwise they are kept, and no other rule looks at them"""
    shortest: int = 1
    """words that each side has at least; 1 drops nothing"""
    longest: int = 100
    """words that each side has at most"""
    ratio: float = 1.5
    """how many times as long as is usual in this corpus a side may be beside the other, in characters without spaces"""
    slack: int = 10
    """characters that are taken off the longer side first, so that short sentences may differ more"""
    identical: int = 20
    """drop pairs whose sides are the same, case and spaces aside, and have this many letters or more"""
    script: float = 0.5
    """share of a side's letters that may be of another script than most of that side's letters in the corpus"""
    language: float = 0.5
    """drop pairs with a side whose words are this much more probable on the other side, in nats a word"""
    spelling: float = 1.0
    """nats a character by which a side's spelling may be more surprising than is usual on that side of the corpus; more
    where its sentences differ more"""
    numbers: bool = False
    """drop pairs whose sides do not have the same digits"""
    duplicates: Literal["off", "pair", "source", "target", "either"] = "pair"
    """drop all but the first pair with the same two sides, the same source, the same target, or the same one of both"""
    sample: int = 10_000
    """most pairs from which is learnt what is usual: spread over the files, or the first of a pipe"""

    def __post_init__(self) -> None:
        for name in ("shortest", "longest", "ratio", "slack", "identical", "script", "language", "spelling"):
            if not getattr(self, name) >= 0:
                raise NmtError(f"{name} is {getattr(self, name)}: expected 0, which switches the rule off, or more")
        if 0 < self.ratio < 1:
            raise NmtError(f"ratio is {self.ratio}: expected 1 or more, or 0, which switches the rule off")
        if self.script > 1:
            raise NmtError(f"script is {self.script}: expected a share, 0 to 1")
        if self.sample < 1:
            raise NmtError(f"sample is {self.sample}: expected 1 pair or more")


class Fault(NamedTuple):
    """Why a pair is dropped."""

    rule: str
    """One of `NAMES`."""
    value: str | float
    """What was found: a measure, or which side."""
    threshold: float | None = None
    """What the measure was held against."""


class Spelling:
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
                trigrams.update(_trigrams(text))
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
            found = _trigrams(text)
            told.append((self._mean(found, elsewhere if counts else self._seen), len(found)))
        self.usual = _median([mean for mean, _ in told], 0.0)
        """Nats a character: the median over the sentences."""
        return [self._excess(mean, length) for mean, length in told]

    def excess(self, text: str) -> float:
        """Nats a character more than usual, over the sentence and `DOUBT` characters as usual; less of what was learnt
        from."""
        trigrams = _trigrams(text)
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
class Usual:
    """What is usual in a corpus."""

    source_script: str
    """Of most of the source's letters; "" where there are none."""
    target_script: str
    length: float
    """Target characters for each source character: the median over the pairs."""
    leaning: dict[str, float]
    """ln p(word | target side) / p(word | source side) of each word that was seen."""
    source_spelling: Spelling
    target_spelling: Spelling

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Usual:
        """Learns it from pairs, a blank side of which says nothing; a few bad ones do not matter."""
        scripts: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        words: tuple[Counter[str], Counter[str]] = Counter(), Counter()
        lengths, texts = [], list(pairs)
        for pair in texts:
            for text, letters, said in zip(pair, scripts, words, strict=True):
                letters.update(_scripts(text))
                said.update(_words(text))
            source, target = map(_characters, pair)
            if source and target:
                lengths.append(target / source)
        spellings = [Spelling(pair[side] for pair in texts) for side in (0, 1)]
        return cls(_most(scripts[0]), _most(scripts[1]), _median(lengths, 1.0), _leaning(*words), *spellings)


def learn(pairs: Iterable[RawPair], count: int) -> Usual:
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
    return Usual.of(map(_decoded, kept))


def judge(pairs: Iterable[RawPair], rules: Rules, usual: Usual | None = None) -> Iterator[tuple[RawPair, Fault | None]]:
    """Each pair, in order and untouched, with what is wrong with it: the first rule that hits, None where it is good.

    It streams: what is kept is a hash of each pair that is good so far and, without `usual`, a sample at the beginning.

    Args:
        pairs: the corpus.
        rules: which pairs are bad.
        usual: what is usual in the corpus; None: in its first `rules.sample` pairs.
    """
    rest, copies = iter(pairs), Duplicates(rules.duplicates)
    sample = list(islice(rest, rules.sample)) if usual is None else []
    usual = usual or Usual.of(map(_decoded, sample))
    for pair in chain(sample, rest):
        fault = invalid(pair) if rules.invalid else None
        if fault is None:
            source, target = _decoded(pair)
            fault = find_fault(source, target, rules, usual) or copies.find(source, target)
        yield pair, fault


def find_fault(source: str, target: str, rules: Rules, usual: Usual) -> Fault | None:
    """What is wrong with a pair by itself: the first rule that hits; None where none does."""
    if not source.strip() or not target.strip():
        return _empty(source, target) if rules.empty else None
    faults = (
        rule(source, target, rules, usual)
        for rule in (_short, _long, _ratio, _identical, _script, _language, _spelling)
    )
    return next((fault for fault in faults if fault), None) or (_numbers(source, target) if rules.numbers else None)


def invalid(pair: RawPair) -> Fault | None:
    """The fault of a pair that is not valid UTF-8: which side, from which byte on, counted from 1."""
    for side, text in zip(("source", "target"), pair, strict=True):
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            return Fault("invalid", f"{side}, byte {error.start + 1}")
    return None


def _empty(source: str, target: str) -> Fault:
    return Fault("empty", "target" if source.strip() else "source" if target.strip() else "both")


def _short(source: str, target: str, rules: Rules, usual: Usual) -> Fault | None:
    words = min(len(source.split()), len(target.split()))
    return Fault("short", words, rules.shortest) if words < rules.shortest else None


def _long(source: str, target: str, rules: Rules, usual: Usual) -> Fault | None:
    words = max(len(source.split()), len(target.split()))
    return Fault("long", words, rules.longest) if words > rules.longest > 0 else None


def _ratio(source: str, target: str, rules: Rules, usual: Usual) -> Fault | None:
    """Characters, not words: they are many, so their ratio varies less (Gale and Church 1993, "A Program for Aligning
    Sentences in Bilingual Corpora"), and they are there where nothing is written between words.

    Both sides are measured in target characters: the source's are multiplied by how many of these it usually becomes.
    """
    if not rules.ratio:
        return None
    expected, found = usual.length * _characters(source), float(_characters(target))
    shorter, longer = min(expected, found), max(expected, found)
    limit = rules.ratio + rules.slack / shorter  # longer - slack > ratio * shorter, divided by shorter
    return (
        Fault("ratio", found / expected, limit if found > expected else 1 / limit) if longer / shorter > limit else None
    )


def _identical(source: str, target: str, rules: Rules, usual: Usual) -> Fault | None:
    """Letters are counted, and not too few asked for: numbers and names are right as they are."""
    if not rules.identical or _folded(source) != _folded(target):
        return None
    letters = sum(map(str.isalpha, source))
    return Fault("identical", letters, rules.identical) if letters >= rules.identical else None


def _script(source: str, target: str, rules: Rules, usual: Usual) -> Fault | None:
    if not rules.script:
        return None
    worst = max(_other(source, usual.source_script), _other(target, usual.target_script))
    return Fault("script", worst, rules.script) if worst > rules.script else None


def _other(text: str, script: str) -> float:
    """Share of a text's letters that are not of this script; 0 without letters."""
    letters = _scripts(text)
    return 1 - letters[script] / letters.total() if letters else 0.0


def _language(source: str, target: str, rules: Rules, usual: Usual) -> Fault | None:
    """Finds sides that are exchanged or not translated, by which words stand on which side of the corpus."""
    if not rules.language:
        return None
    lean = max(_mean_leaning(source, usual), -_mean_leaning(target, usual))
    return Fault("language", lean, rules.language) if lean > rules.language else None


def _mean_leaning(text: str, usual: Usual) -> float:
    """Of its words, towards the target side; a word that was not seen leans nowhere.

    Two words that lean nowhere are added, or a single one that both languages have would decide.
    """
    words = _words(text)
    return sum(usual.leaning.get(word, 0.0) for word in words) / (len(words) + 2)


def _numbers(source: str, target: str) -> Fault | None:
    """The digits are compared, not the numbers: languages group and order these differently."""
    one, other = _digits(source), _digits(target)
    alone = ((one - other) + (other - one)).total()
    return Fault("numbers", alone, 0) if alone else None


def _spelling(source: str, target: str, rules: Rules, usual: Usual) -> Fault | None:
    """Finds sides in a third language, and text that was broken in conversion."""
    if not rules.spelling:
        return None
    for text, spelling in ((source, usual.source_spelling), (target, usual.target_spelling)):
        excess, limit = spelling.excess(text), spelling.limit(rules.spelling)
        if excess > limit:
            return Fault("spelling", excess, limit)
    return None


class Duplicates:
    """Remembers sentences by 64 bits of their hashes: a billion different ones meet by chance 0.03 times.

    Args:
        of: what must be the same, see `Rules.duplicates`.
    """

    def __init__(self, of: str) -> None:
        self._of = of
        self._seen: set[int] = set()

    def find(self, source: str, target: str) -> Fault | None:
        """The fault of a pair that was there before; remembers it otherwise. Outer spaces do not matter; a pair with a
        blank side is not looked at."""
        source, target = source.strip(), target.strip()
        if not source or not target:
            return None
        keys = {
            name: _hashed(name, text)
            for name, text in (("pair", f"{source}\n{target}"), ("source", source), ("target", target))
            if self._of == name or (self._of == "either" and name != "pair")
        }
        for name, key in keys.items():
            if key in self._seen:
                return Fault("duplicate", name)
        self._seen.update(keys.values())
        return None


def limit_of_worst(scores: Sequence[float], share: float) -> float:
    """The score above which the highest `share` of the scores lie; NaN, which is no score, is left out of account.

    Equal scores stay together: where the limit falls among equals, fewer than `share` lie above it.
    """
    known = sorted((score for score in scores if not math.isnan(score)), reverse=True)
    place = round(share * len(known))
    return known[place] if place < len(known) else -math.inf


def above(rule: Literal["unusual", "unlikely"], score: float, limit: float) -> Fault | None:
    """The fault of a pair whose score by a model is above the limit: that of `explanation.Ranking.scores`, or how
    unlikely the target is, in nats a piece."""
    return Fault(rule, score, limit) if score > limit else None


def _decoded(pair: RawPair) -> tuple[str, str]:
    source, target = (text.decode("utf-8", errors="surrogateescape") for text in pair)
    return source, target


def _median(values: Sequence[float], otherwise: float) -> float:
    return sorted(values)[len(values) // 2] if values else otherwise


def _quantile(values: Sequence[float], share: float) -> float:
    """Of the values this share is less; 0 of none."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)] if values else 0.0


def _characters(text: str) -> int:
    return len("".join(text.split()))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"\w+(?:['’]\w+)*")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _trigrams(text: str) -> list[str]:
    """One for each character and one for the end, each with the two characters before it; what is no letter of a word
    is a space, or dates and numbers would be what surprises most."""
    text = f"  {' '.join(_LETTERS.findall(text.casefold()))} "
    return [text[place - 2 : place + 1] for place in range(2, len(text))]


def _digits(text: str) -> Counter[int]:
    return Counter(unicodedata.digit(character) for character in text if character.isdigit())


def _scripts(text: str) -> Counter[str]:
    """How many letters of each script a text has."""
    letters: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if script := _script_of(character):
            letters[script] += count
    return letters


@cache  # no more entries than Unicode has characters
def _script_of(character: str) -> str:
    """The script of a letter, which is the first word of its name in Unicode; "" where it is none.

    Japanese is written in three scripts at once, one of them that of Chinese: they are taken for one.
    """
    character = unicodedata.normalize("NFKC", character)[0]  # the full-width and the ordinal A are an A
    if unicodedata.category(character) not in ("Lu", "Ll", "Lt", "Lo"):
        return ""
    script = re.split("[ -]", unicodedata.name(character, "UNKNOWN"), maxsplit=1)[0]
    return "CJK" if script in ("HIRAGANA", "KATAKANA") else script


def _most(counts: Counter[str]) -> str:
    return counts.most_common(1)[0][0] if counts else ""


def _leaning(source: Counter[str], target: Counter[str]) -> dict[str, float]:
    """Add-one estimates, so that a word seen once leans by ln 2 only."""
    words = source.keys() | target.keys()
    sizes = math.log((source.total() + len(words)) / (target.total() + len(words))) if words else 0.0
    return {word: math.log((target[word] + 1) / (source[word] + 1)) + sizes for word in words}


def _hashed(kind: str, text: str) -> int:
    digest = hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=8, person=kind.encode()).digest()
    return int.from_bytes(digest)
