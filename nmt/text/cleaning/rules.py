"""The rules that find bad pairs."""

from __future__ import annotations

from nmt.text.cleaning.faults import Fault
from nmt.text.cleaning.features import count_characters, digits_of, fold_case, scripts_of, words_of
from nmt.text.cleaning.settings import Rules
from nmt.text.cleaning.statistics import CorpusStatistics, RawPair

REST = 0.3
"""Share of the limit of `spelling` that a sentence must exceed without its most surprising words."""


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
    the corpus's usual number of target characters for each source character. The value is the longer side without the
    slack, divided by the shorter side, so it compares with the setting.
    """
    if not rules.ratio:
        return None
    expected, found = statistics.length * count_characters(source), float(count_characters(target))
    shorter, longer = min(expected, found), max(expected, found)
    ratio = (longer - rules.slack) / shorter
    return Fault("ratio", ratio, rules.ratio) if ratio > rules.ratio else None


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
    """Finds sides in a third language, and text that a conversion broke. It is silent where the corpus is small."""
    if not rules.spelling:
        return None
    for text, spelling in ((source, statistics.source_spelling), (target, statistics.target_spelling)):
        limit = spelling.limit(rules.spelling)
        if (
            spelling.is_sure
            and (excess := spelling.excess(text)) > limit
            and spelling.excess_without_names(text) > REST * limit
        ):
            return Fault("spelling", excess, limit)
    return None
