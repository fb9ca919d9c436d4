"""The sentences that a page shows, checked, and as the data that the page's script reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.alignment.links import Gold, require_in_range
from nmt.alignment.word_alignment import WordAlignment
from nmt.direction import right_to_left
from nmt.drawing.canvas import PlotError
from nmt.drawing.picture import erasure_matrix, link_rule
from nmt.errors import NmtError

_DECIMALS = 4


class PageError(NmtError):
    """A sentence that the page cannot show, or a path that cannot be written; the message says what was expected."""


class AlignedTranslation(Protocol):
    """A translation and its alignment; `nmt.Translation` is one."""

    @property
    def text(self) -> str: ...

    @property
    def log_probability(self) -> float: ...

    @property
    def alignment(self) -> WordAlignment: ...


@dataclass(frozen=True, eq=False)
class PageSentence:
    """A source sentence on the page, with its translations.

    Raises:
        PageError: no translation; translations of different sources; an erasure matrix of another shape, or with a
            number that is not finite.
        AlignmentError: a gold link to a word that does not exist.
    """

    translations: Sequence[AlignedTranslation]
    """Translations of the same source sentence, best first."""
    label: str = ""
    """The heading of the sentence, such as `line 3`."""
    gold: Gold | None = None
    """Links between the source and the first translation, drawn by people."""
    erasure: ArrayLike | None = None
    """[target words, source words] of the first translation: the fall of the target word's log-probability in nats when
    the source word is erased."""
    linking: Linking = DEFAULT_LINKING
    """The rule of the links, which the page names if the links are those of this rule."""
    merged: str = ""
    """The method that merged the links of two models, if there were two."""
    languages: tuple[str, str] = ("", "")
    """The languages of source and target as BCP 47 tags, for fonts, hyphenation and screen readers; empty: unknown."""
    headings: Sequence[str] = ()
    """A heading for each translation; by default its number and log-probability."""
    note: str = ""
    """A line about the sentence, shown below its heading."""

    def __post_init__(self) -> None:
        if not self.translations:
            raise PageError(f"{self._name}: no translations: expected at least one")
        first = self.translations[0].alignment
        if any(translation.alignment.source != first.source for translation in self.translations):
            raise PageError(f"{self._name}: translations of different sources: give each source its own sentence")
        if self.gold is not None:
            require_in_range(self.gold, first.source, first.target, f"{self._name}, gold links")
        if self.erasure is not None:
            try:
                erasure_matrix(self.erasure, first)
            except PlotError as error:
                raise PageError(f"{self._name}: {error}") from None

    @property
    def _name(self) -> str:
        return self.label or "sentence"

    def to_json(self) -> dict[str, Any]:
        """The sentence as the page's script reads it, with numbers rounded to 4 decimals."""
        return {
            "label": self.label,
            "note": self.note,
            "languages": list(self.languages),
            "direction": _direction(self.translations[0].alignment.source),
            "translations": [self._translation_to_json(number) for number in range(len(self.translations))],
            "gold": None if self.gold is None else {k: sorted(v) for k, v in self.gold._asdict().items()},
            "erasure": None if self.erasure is None else np.asarray(self.erasure, float).round(_DECIMALS).tolist(),
        }

    def _translation_to_json(self, number: int) -> dict[str, Any]:
        translation = self.translations[number]
        alignment = translation.alignment
        rule = link_rule(alignment, self.linking, self.merged)
        shares = None if rule.shares is None else [_rounded(rule.shares[t, s]) for s, t in sorted(alignment.links)]
        return {
            "text": translation.text,
            "log_probability": _rounded(translation.log_probability),
            "alignment": alignment.to_json(),
            "heading": self.headings[number] if self.headings else "",
            "direction": _direction(alignment.target),
            "rule": rule.in_words,
            "shares": shares,
            "probabilities": _probabilities(translation),
        }


def _probabilities(translation: AlignedTranslation) -> list[float] | None:
    """The probability of each word, for translations that have it."""
    values = getattr(translation, "word_log_probabilities", ())
    words = len(translation.alignment.target)
    return np.exp(np.asarray(values, float)).round(_DECIMALS).tolist() if words and len(values) == words else None


def _direction(words: Sequence[str]) -> str:
    return "rtl" if right_to_left(words) else "ltr"


def _rounded(value: float) -> float | None:
    return round(float(value), _DECIMALS) if math.isfinite(value) else None
