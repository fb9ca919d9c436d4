"""The rules that find bad pairs."""

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
from nmt.text.cleaning.features import count_characters, digits_of, fold_case, scripts_of, words_of
from nmt.text.cleaning.statistics import CorpusStatistics, RawPair, decode_pair

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
"""The rules in the order in which they are applied. The last two need a model."""


@dataclass(frozen=True)
class Rules:
    """The settings of the rules. A number of 0 switches its rule off."""

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
    """The reason for dropping a pair."""

    rule: str
    """One of `RULE_NAMES`."""
    value: str | float
    """The measured value, or the side."""
    threshold: float | None = None
    """The limit of the measured value; None for a side."""


def judge(
    pairs: Iterable[RawPair], rules: Rules, statistics: CorpusStatistics | None = None
) -> Iterator[tuple[RawPair, Fault | None]]:
    """Each pair, in order and unchanged, with the fault that the first matching rule finds; None for a good pair.

    The pairs are streamed. Memory holds a hash of each good pair and, without `statistics`, the sample at the start.

    Args:
        pairs: the corpus.
        rules: the settings of the rules.
        statistics: the corpus's statistics; None: those of its first `rules.sample` pairs.
    """
    rest, copies = iter(pairs), Duplicates(rules.duplicates)
    sample = list(islice(rest, rules.sample)) if statistics is None else []
    statistics = statistics or CorpusStatistics.of(map(decode_pair, sample))
    for pair in chain(sample, rest):
        fault = invalid(pair) if rules.invalid else None
        if fault is None:
            source, target = decode_pair(pair)
            fault = find_fault(source, target, rules, statistics) or copies.find(source, target)
        yield pair, fault


def find_fault(source: str, target: str, rules: Rules, statistics: CorpusStatistics) -> Fault | None:
    """The fault that the first matching rule finds in a pair by itself; None for a good pair."""
    if not source.strip() or not target.strip():
        return _empty(source, target) if rules.empty else None
    faults = (
        rule(source, target, rules, statistics)
        for rule in (_short, _long, _ratio, _identical, _script, _language, _spelling)
    )
    return next((fault for fault in faults if fault), None) or (_numbers(source, target) if rules.numbers else None)


def invalid(pair: RawPair) -> Fault | None:
    """The fault of a pair with invalid UTF-8: the side and the first invalid byte, counted from 1."""
    for side, text in zip(("source", "target"), pair, strict=True):
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            return Fault("invalid", f"{side}, byte {error.start + 1}")
    return None


def _empty(source: str, target: str) -> Fault:
    return Fault("empty", "target" if source.strip() else "source" if target.strip() else "both")


def _short(source: str, target: str, rules: Rules, statistics: CorpusStatistics) -> Fault | None:
    words = min(len(source.split()), len(target.split()))
    return Fault("short", words, rules.shortest) if words < rules.shortest else None


def _long(source: str, target: str, rules: Rules, statistics: CorpusStatistics) -> Fault | None:
    words = max(len(source.split()), len(target.split()))
    return Fault("long", words, rules.longest) if words > rules.longest > 0 else None


def _ratio(source: str, target: str, rules: Rules, statistics: CorpusStatistics) -> Fault | None:
    """Compares the lengths of the sides in characters.

    There are more characters than words, so their ratio varies less (Gale and Church 1993, "A Program for Aligning
    Sentences in Bilingual Corpora"). Scripts without spaces have characters too. The source's length is multiplied by
    the corpus's usual number of target characters for each source character.
    """
    if not rules.ratio:
        return None
    expected, found = statistics.length * count_characters(source), float(count_characters(target))
    shorter, longer = min(expected, found), max(expected, found)
    limit = rules.ratio + rules.slack / shorter  # longer - slack > ratio * shorter, divided by shorter
    return (
        Fault("ratio", found / expected, limit if found > expected else 1 / limit) if longer / shorter > limit else None
    )


def _identical(source: str, target: str, rules: Rules, statistics: CorpusStatistics) -> Fault | None:
    """Finds copies. Pairs with few letters pass: numbers and names are often equal in both languages."""
    if not rules.identical or fold_case(source) != fold_case(target):
        return None
    letters = sum(map(str.isalpha, source))
    return Fault("identical", letters, rules.identical) if letters >= rules.identical else None


def _script(source: str, target: str, rules: Rules, statistics: CorpusStatistics) -> Fault | None:
    """Finds sides in another script than most of the corpus."""
    if not rules.script:
        return None
    worst = max(
        _foreign_share(source, statistics.source_script),
        _foreign_share(target, statistics.target_script),
    )
    return Fault("script", worst, rules.script) if worst > rules.script else None


def _foreign_share(text: str, script: str) -> float:
    """The share of a text's letters in other scripts; 0 without letters."""
    letters = scripts_of(text)
    return 1 - letters[script] / letters.total() if letters else 0.0


def _language(source: str, target: str, rules: Rules, statistics: CorpusStatistics) -> Fault | None:
    """Finds exchanged and untranslated sides by the words that the other side of the corpus has."""
    if not rules.language:
        return None
    lean = max(_mean_leaning(source, statistics), -_mean_leaning(target, statistics))
    return Fault("language", lean, rules.language) if lean > rules.language else None


def _mean_leaning(text: str, statistics: CorpusStatistics) -> float:
    """The mean leaning of a text's words towards the target side; an unseen word counts as 0.

    Two words of leaning 0 are added. Otherwise a single word that both languages share could decide.
    """
    words = words_of(text)
    return sum(statistics.leaning.get(word, 0.0) for word in words) / (len(words) + 2)


def _numbers(source: str, target: str) -> Fault | None:
    """Compares single digits, because languages group and order the digits of numbers differently."""
    one, other = digits_of(source), digits_of(target)
    alone = ((one - other) + (other - one)).total()
    return Fault("numbers", alone, 0) if alone else None


def _spelling(source: str, target: str, rules: Rules, statistics: CorpusStatistics) -> Fault | None:
    """Finds sides in a third language, and text that a conversion broke."""
    if not rules.spelling:
        return None
    for text, spelling in ((source, statistics.source_spelling), (target, statistics.target_spelling)):
        excess, limit = spelling.excess(text), spelling.limit(rules.spelling)
        if excess > limit:
            return Fault("spelling", excess, limit)
    return None


class Duplicates:
    """Finds repeated pairs by 64 bits of a hash. A billion different sentences collide 0.03 times on average.

    Args:
        of: the sides that must be equal, see `Rules.duplicates`.
    """

    def __init__(self, of: str) -> None:
        self._of = of
        self._seen: set[int] = set()

    def find(self, source: str, target: str) -> Fault | None:
        """The fault of a pair that was found before; other pairs are remembered.

        Outer spaces do not count. A pair with a blank side has no duplicates.
        """
        source, target = source.strip(), target.strip()
        if not source or not target:
            return None
        keys = {
            name: _hash(name, text)
            for name, text in (("pair", f"{source}\n{target}"), ("source", source), ("target", target))
            if self._of == name or (self._of == "either" and name != "pair")
        }
        for name, key in keys.items():
            if key in self._seen:
                return Fault("duplicate", name)
        self._seen.update(keys.values())
        return None


def _hash(kind: str, text: str) -> int:
    digest = hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=8, person=kind.encode()).digest()
    return int.from_bytes(digest)


def score_limit(scores: Sequence[float], share: float) -> float:
    """The limit that the highest `share` of the scores exceeds. NaN is not counted as a score.

    Equal scores are kept or dropped together, so fewer than `share` of the scores may exceed the limit.
    """
    known = sorted((score for score in scores if not math.isnan(score)), reverse=True)
    place = round(share * len(known))
    return known[place] if place < len(known) else -math.inf


def model_fault(rule: Literal["unusual", "unlikely"], score: float, limit: float) -> Fault | None:
    """The fault of a pair whose score by a model exceeds the limit.

    Args:
        rule: the kind of score: `unusual` as in `nmt explain`, `unlikely` in nats per target piece.
        score: NaN for a pair without a score, which has no fault.
        limit: the highest score of a good pair.
    """
    return Fault(rule, score, limit) if score > limit else None
