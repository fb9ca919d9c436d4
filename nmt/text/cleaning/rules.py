"""The rules: what makes a pair bad."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal, NamedTuple

from nmt.config.fields import setting
from nmt.errors import NmtError
from nmt.text.cleaning.features import count_characters, digits_of, folded, scripts_of, words_of
from nmt.text.cleaning.statistics import CorpusStatistics, RawPair, decoded

RULE_NAMES = (
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

    invalid: bool = setting(True, "Drop pairs with a side that is invalid UTF-8.")
    empty: bool = setting(True, "Drop pairs with an empty side; if off, these pairs are kept without further checks.")
    shortest: int = setting(1, "Fewest words of each side; 1 drops nothing.")
    longest: int = setting(100, "Most words of each side.")
    ratio: float = setting(
        1.5, "Largest ratio of the sides' lengths, relative to the corpus's usual ratio, in characters without spaces."
    )
    slack: int = setting(10, "Characters taken off the longer side first, so that short sentences may differ more.")
    identical: int = setting(
        20, "Drop pairs with equal sides of at least this many letters; case and spaces do not count."
    )
    script: float = setting(
        0.5, "Largest share of a side's letters that are not in the script of most letters of that side of the corpus."
    )
    language: float = setting(
        0.5, "Drop pairs with a side whose words are this much more probable on the other side, in nats per word."
    )
    spelling: float = setting(
        1.0,
        "Largest surprise of a side's spelling above the usual on that side of the corpus, in nats per character. The "
        "limit is higher where the corpus's sentences vary more.",
    )
    numbers: bool = setting(False, "Drop pairs whose sides have different digits.")
    duplicates: Literal["off", "pair", "source", "target", "either"] = setting(
        "pair", "Drop all but the first pair with the same two sides (pair), source, target, or any one side (either)."
    )
    sample: int = setting(
        10_000, "Most pairs that the usual values are learned from: spread over the files, or the first ones of a pipe."
    )

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
        if self.sample > sys.maxsize:
            raise NmtError(f"sample is {self.sample}: is too large")


class Fault(NamedTuple):
    """Why a pair is dropped."""

    rule: str
    """One of `RULE_NAMES`."""
    value: str | float
    """What was found: a measure, or which side."""
    threshold: float | None = None
    """What the measure was held against."""


def judge(
    pairs: Iterable[RawPair], rules: Rules, usual: CorpusStatistics | None = None
) -> Iterator[tuple[RawPair, Fault | None]]:
    """Each pair, in order and untouched, with what is wrong with it: the first rule that hits, None where it is good.

    It streams: what is kept is a hash of each pair that is good so far and, without `usual`, a sample at the beginning.

    Args:
        pairs: the corpus.
        rules: which pairs are bad.
        usual: what is usual in the corpus; None: in its first `rules.sample` pairs.
    """
    rest, copies = iter(pairs), Duplicates(rules.duplicates)
    sample = list(islice(rest, rules.sample)) if usual is None else []
    usual = usual or CorpusStatistics.of(map(decoded, sample))
    for pair in chain(sample, rest):
        fault = invalid(pair) if rules.invalid else None
        if fault is None:
            source, target = decoded(pair)
            fault = find_fault(source, target, rules, usual) or copies.find(source, target)
        yield pair, fault


def find_fault(source: str, target: str, rules: Rules, usual: CorpusStatistics) -> Fault | None:
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


def _short(source: str, target: str, rules: Rules, usual: CorpusStatistics) -> Fault | None:
    words = min(len(source.split()), len(target.split()))
    return Fault("short", words, rules.shortest) if words < rules.shortest else None


def _long(source: str, target: str, rules: Rules, usual: CorpusStatistics) -> Fault | None:
    words = max(len(source.split()), len(target.split()))
    return Fault("long", words, rules.longest) if words > rules.longest > 0 else None


def _ratio(source: str, target: str, rules: Rules, usual: CorpusStatistics) -> Fault | None:
    """Characters, not words: they are many, so their ratio varies less (Gale and Church 1993, "A Program for Aligning
    Sentences in Bilingual Corpora"), and they are there where nothing is written between words.

    Both sides are measured in target characters: the source's are multiplied by how many of these it usually becomes.
    """
    if not rules.ratio:
        return None
    expected, found = usual.length * count_characters(source), float(count_characters(target))
    shorter, longer = min(expected, found), max(expected, found)
    limit = rules.ratio + rules.slack / shorter  # longer - slack > ratio * shorter, divided by shorter
    return (
        Fault("ratio", found / expected, limit if found > expected else 1 / limit) if longer / shorter > limit else None
    )


def _identical(source: str, target: str, rules: Rules, usual: CorpusStatistics) -> Fault | None:
    """Letters are counted, and not too few asked for: numbers and names are right as they are."""
    if not rules.identical or folded(source) != folded(target):
        return None
    letters = sum(map(str.isalpha, source))
    return Fault("identical", letters, rules.identical) if letters >= rules.identical else None


def _script(source: str, target: str, rules: Rules, usual: CorpusStatistics) -> Fault | None:
    if not rules.script:
        return None
    worst = max(_other(source, usual.source_script), _other(target, usual.target_script))
    return Fault("script", worst, rules.script) if worst > rules.script else None


def _other(text: str, script: str) -> float:
    """Share of a text's letters that are not of this script; 0 without letters."""
    letters = scripts_of(text)
    return 1 - letters[script] / letters.total() if letters else 0.0


def _language(source: str, target: str, rules: Rules, usual: CorpusStatistics) -> Fault | None:
    """Finds sides that are exchanged or not translated, by which words stand on which side of the corpus."""
    if not rules.language:
        return None
    lean = max(_mean_leaning(source, usual), -_mean_leaning(target, usual))
    return Fault("language", lean, rules.language) if lean > rules.language else None


def _mean_leaning(text: str, usual: CorpusStatistics) -> float:
    """Of its words, towards the target side; a word that was not seen leans nowhere.

    Two words that lean nowhere are added, or a single one that both languages have would decide.
    """
    words = words_of(text)
    return sum(usual.leaning.get(word, 0.0) for word in words) / (len(words) + 2)


def _numbers(source: str, target: str) -> Fault | None:
    """The digits are compared, not the numbers: languages group and order these differently."""
    one, other = digits_of(source), digits_of(target)
    alone = ((one - other) + (other - one)).total()
    return Fault("numbers", alone, 0) if alone else None


def _spelling(source: str, target: str, rules: Rules, usual: CorpusStatistics) -> Fault | None:
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


def _hashed(kind: str, text: str) -> int:
    digest = hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=8, person=kind.encode()).digest()
    return int.from_bytes(digest)


def score_limit(scores: Sequence[float], share: float) -> float:
    """The score above which the highest `share` of the scores lie; NaN, which is no score, is left out of account.

    Equal scores stay together: where the limit falls among equals, fewer than `share` lie above it.
    """
    known = sorted((score for score in scores if not math.isnan(score)), reverse=True)
    place = round(share * len(known))
    return known[place] if place < len(known) else -math.inf


def model_fault(rule: Literal["unusual", "unlikely"], score: float, limit: float) -> Fault | None:
    """The fault of a pair whose score by a model is above the limit: that of `the ranking of unusual pairs`, or how
    unlikely the target is, in nats a piece."""
    return Fault(rule, score, limit) if score > limit else None
