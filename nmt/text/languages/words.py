"""The words of a sentence: separated by spaces, or cut by rules and models of a language that writes none.

Every character that is not a space belongs to one word, and the words in order are the sentence without its spaces.
Budoux and regex are imported on first use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

from nmt.config.corpus import CorpusConfig, WordRule
from nmt.text.languages.language import UNSPACED_SCRIPTS, Language, languages_of
from nmt.text.languages.scripts import script_counts

_TSHEG = "\u0f0b\u0f0c"
"""The marks that end a Tibetan syllable."""
_UNICODE_SCRIPTS = "".join(rf"\p{{sc={name}}}" for name in sorted(UNSPACED_SCRIPTS - {"Hans", "Hant", "Jpan"}))
_MODELS = {"ja": "ja_word", "zh": "zh-hans", "th": "th"}
"""Files of budoux's models. The Japanese one cuts words; budoux's default one cuts phrases."""
_TRADITIONAL = {"Hant", "TW", "HK", "MO"}
"""Scripts and regions of traditional Chinese."""
_WITHIN = frozenset(".,:'’_@/-")
"""Punctuation that belongs to the word around it in other scripts and numbers."""
_SPACED_FROM = 1 / 8
"""Spaces per letter of an unspaced script from which text counts as already cut into words."""


class Words(Protocol):
    """Cuts sentences into words."""

    @property
    def name(self) -> str:
        """How words are cut, such as "into characters"; "" if spaces separate them."""
        ...

    def __call__(self, text: str) -> list[str]: ...


class SpacedWords:
    """Words are separated by whitespace, as in `str.split()`."""

    name = ""

    def __call__(self, text: str) -> list[str]:
        """The words of a sentence."""
        return text.split()


SPACED = SpacedWords()


@dataclass(frozen=True)
class UnspacedWords:
    """Words of a language that writes no spaces between words.

    A space ends a word. So does an end that `ends` finds between two grapheme clusters. Letters of other scripts and
    digits stay together. Punctuation is no part of other words.
    """

    name: str
    ends: Callable[[str], Iterable[int]]
    """Positions in text without spaces where a word may begin."""

    def __call__(self, text: str) -> list[str]:
        """The words of a sentence."""
        return [word for token in text.split() for word in self._cut(token)]

    def _cut(self, token: str) -> list[str]:
        ends = set(self.ends(token))
        units = _units(token)
        words: list[str] = []
        before = ""
        for number, (begin, unit, kind) in enumerate(units):
            following = units[number + 1][2] if number + 1 < len(units) else ""
            if unit in _WITHIN and before == following == "other":
                kind = "other"  # the point of 3.12 and the hyphen of Coca-Cola
            if kind == before and (kind == "other" or begin not in ends):
                words[-1] += unit
            else:
                words.append(unit)
            before = kind
        return words


def _units(token: str) -> list[tuple[int, str, str]]:
    """The characters that a reader sees: position, text, and whether it is of another script, punctuation or text."""
    return [(match.start(), match[0], match.lastgroup) for match in _unit().finditer(token)]


@functools.cache
def _unit() -> Any:
    """Matches a grapheme cluster, with all marks and zero-width spaces behind it.

    Unicode's rules take some Burmese vowel signs for clusters of their own.
    """
    import regex  # type: ignore[import-untyped]

    other = rf"[[\p{{L}}\p{{N}}]--\p{{sc=Zyyy}}--[{_UNICODE_SCRIPTS}]]|[\p{{Nd}}--[{_UNICODE_SCRIPTS}]]"
    kinds = rf"(?=(?P<other>{other}))|(?=(?P<punctuation>[\p{{P}}--[{_TSHEG}]]))|(?P<text>)"
    return regex.compile(rf"(?:{kinds})\X(?:(?=\p{{M}})\X)*\u200b*", regex.V1)


def word_spans(text: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Where each word of a text begins and ends.

    Args:
        text: a sentence.
        words: its words, in order.
    """
    spans, end = [], 0
    for word in words:
        begin = text.index(word, end)
        end = begin + len(word)
        spans.append((begin, end))
    return spans


def words_of_language(language: Language) -> Words:
    """The words of a language without spaces.

    Budoux's models cut Japanese, Chinese and Thai. Tibetan is cut behind each syllable's mark, the tsheg. Text of other
    scripts is cut into grapheme clusters, the characters that a reader sees.
    """
    code = "zh" if language.script in ("Hani", "Hans", "Hant") else language.code
    if code in _MODELS:
        traditional = code == "zh" and (language.code == "yue" or _TRADITIONAL.intersection(language.tag.split("-")))
        model = "zh-hant" if traditional else _MODELS[code]
        return UnspacedWords(f"by budoux's model {model}", functools.partial(_budoux_ends, model))
    if language.script == "Tibt":
        return UnspacedWords("behind each tsheg", _syllable_ends)
    return UnspacedWords("into characters", lambda token: range(len(token)))


def _budoux_ends(model: str, token: str) -> Iterable[int]:
    return accumulate(map(len, _budoux_parser(model).parse(token)))


@functools.cache
def _budoux_parser(model: str) -> Any:
    import json
    from pathlib import Path

    from budoux import parser

    return parser.Parser(json.loads((Path(parser.MODEL_DIR) / f"{model}.json").read_text(encoding="utf-8")))


def _syllable_ends(token: str) -> Iterable[int]:
    return [position for position, character in enumerate(token, 1) if character in _TSHEG]


def is_spaced(texts: Iterable[str]) -> bool:
    """Whether text of an unspaced script has spaces between its words, as the output of a word segmenter has."""
    import regex

    text = "\n".join(texts)
    letters = sum(n for name, n in script_counts([text]).items() if name in UNSPACED_SCRIPTS)
    spaces = len(regex.findall(rf"(?<=[{_UNICODE_SCRIPTS}]) +(?=[{_UNICODE_SCRIPTS}])", text))
    return letters > 0 and spaces >= _SPACED_FROM * letters


def words_of(corpus: CorpusConfig) -> tuple[Words, Words]:
    """How the words of source and target are cut, by the settings of a corpus."""
    source, target = languages_of(corpus)
    return _words(source, corpus.source_words), _words(target, corpus.target_words)


def _words(language: Language, rule: WordRule) -> Words:
    cut = rule == "cut" or (rule == "auto" and language.is_unspaced)
    return words_of_language(language) if cut else SPACED
