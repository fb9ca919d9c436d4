"""A sentence pair to draw as a heat map: its parts, the checks on them, and the texts that the heat map shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nmt.alignment.links import Gold, require_in_range
from nmt.alignment.word_alignment import WordAlignment
from nmt.drawing.canvas import Floats, PlotError, printable
from nmt.drawing.fonts import find_fonts

MOST_WORDS = 1000
"""The most words of a side. A picture has a bounded size, so more words would be too small to read."""

LINK, SURE, POSSIBLE = "link", "gold link, sure", "gold link, possible"
_ATTENTION_TITLE, _ERASURE_TITLE = "attention", "fall of log-probability when a source word is erased"


@dataclass(frozen=True, eq=False)
class Picture:
    """A sentence pair to draw; `heatmap` describes the fields."""

    alignment: WordAlignment
    title: str = ""
    gold: Gold | None = None
    erasure: ArrayLike | None = None

    @property
    def user_texts(self) -> list[str]:
        """The words and the title, which may be in any script."""
        return [*self.alignment.source, *self.alignment.target, self.title]


class HeatMapText(NamedTuple):
    """The texts of a heat map as they are printed."""

    source: list[str]
    target: list[str]
    title: str
    attention_title: str
    erasure_title: str
    legend: list[str]
    """Some of `LINK`, `SURE` and `POSSIBLE`."""
    fonts: list[str]


def drawable(alignment: WordAlignment) -> bool:
    """Whether both sides have words, and at most `MOST_WORDS`."""
    return all(0 < len(words) <= MOST_WORDS for words in (alignment.source, alignment.target))


def heat_map_text(picture: Picture) -> HeatMapText:
    """Checks the words and gold links of a picture and collects its texts.

    Raises:
        PlotError, AlignmentError: see `heatmap`.
    """
    alignment, gold = picture.alignment, picture.gold
    fonts = find_fonts(picture.user_texts, stacklevel=4)
    for side, words in (("source", alignment.source), ("target", alignment.target)):
        if not words:
            raise PlotError(f"nothing to draw: the {side} has no words")
        if len(words) > MOST_WORDS:
            raise PlotError(f"the {side} has {len(words)} words: a heat map has room for {MOST_WORDS}")
    legend = [LINK] if alignment.links else []
    if gold is not None:
        require_in_range(gold, alignment.source, alignment.target, "gold links")
        legend += [SURE] if gold.sure else []
        legend += [POSSIBLE] if gold.possible - gold.sure else []
    return HeatMapText(
        source=[printable(word) for word in alignment.source],
        target=[printable(word) for word in alignment.target],
        title=picture.title,
        attention_title="" if picture.erasure is None else _ATTENTION_TITLE,
        erasure_title="" if picture.erasure is None else _ERASURE_TITLE,
        legend=legend,
        fonts=fonts,
    )


def erasure_matrix(erasure: ArrayLike, alignment: WordAlignment) -> Floats:
    """[target words, source words].

    Raises:
        PlotError: another shape, or a number that is not finite.
    """
    array, expected = np.asarray(erasure, dtype=float), alignment.weights.shape
    if array.shape != expected or not np.isfinite(array).all():
        raise PlotError(
            f"erasure has shape {list(array.shape)}: expected finite numbers of shape {list(expected)}, "
            "one row per target word and one column per source word"
        )
    return array
