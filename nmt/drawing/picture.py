"""A sentence pair to draw as heat maps: its parts, the checks on them, and the texts that each heat map shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from nmt.alignment.hard_links import BY_ALIGNER, DEFAULT_LINKING, Linking, hard_links, link_shares
from nmt.alignment.links import Gold, Links, require_in_range
from nmt.alignment.word_alignment import WordAlignment
from nmt.direction import right_to_left
from nmt.drawing.canvas import Floats, PlotError, printable
from nmt.drawing.fonts import find_fonts

MOST_WORDS = 1000
"""The most words of a side. A picture has a bounded size, so more words would be too small to read."""

READABLE_WORDS = 60
"""The most words of a side of one heat map. Labels are too far from their cells where there are more, so a longer pair
is drawn in several heat maps."""

NOTABLE_ATTENTION, NOTABLE_FALL = 0.1, 1.0
"""The attention, and the fall of a log-probability in nats, from which a part of a long pair is worth a heat map."""

LINK, SURE, POSSIBLE = "link", "gold link, sure", "gold link, possible"
_ATTENTION_TITLE, _ERASURE_TITLE = "attention", "fall of log-probability when a source word is erased"


class Aligned(Protocol):
    """Anything with an alignment, such as a translation."""

    @property
    def alignment(self) -> WordAlignment: ...


def alignment_of(pair: WordAlignment | Aligned) -> WordAlignment:
    """The alignment to draw: the pair itself, or that of a translation.

    Raises:
        PlotError: the pair has no alignment, or is several.
    """
    if isinstance(pair, WordAlignment):
        return pair
    found = getattr(pair, "alignment", None)
    if not isinstance(found, WordAlignment):
        raise PlotError(f"{type(pair).__name__}: expected one translation or alignment, such as the first: found[0]")
    return found


@dataclass(frozen=True, eq=False)
class Picture:
    """A sentence pair to draw; `heatmap` describes the fields."""

    alignment: WordAlignment
    title: str = ""
    gold: Gold | None = None
    erasure: ArrayLike | None = None
    linking: Linking = DEFAULT_LINKING
    """The rule of the links, which the legend names if the links are those of this rule."""
    merged: str = ""
    """The method that merged the links of two models, if there were two."""

    @property
    def user_texts(self) -> list[str]:
        """The words and the title, which may be in any script."""
        return [*self.alignment.source, *self.alignment.target, self.title]


class LinkRule(NamedTuple):
    """How the links of a pair were made."""

    in_words: str
    """The rule; empty if it is not known."""
    shares: Floats | None
    """[target words, source words]: the shares that the rule compares; None if it compares none."""


class HeatMapContent(NamedTuple):
    """All that one heat map shows: a whole pair, or a part of a long one."""

    source: list[str]
    """The words as they are printed, and likewise `target`."""
    target: list[str]
    weights: Floats
    end_of_sentence: Floats
    erasure: Floats | None
    links: Links
    gold: Gold | None
    shares: Floats | None
    right_to_left: bool
    """Whether the source runs from right to left."""
    title: str
    attention_title: str
    erasure_title: str
    legend: list[tuple[str, str]]
    """`LINK`, `SURE` or `POSSIBLE`, each with its explanation."""
    fonts: list[str]


def drawable(alignment: WordAlignment) -> bool:
    """Whether both sides have words, and at most `MOST_WORDS`."""
    return all(0 < len(words) <= MOST_WORDS for words in (alignment.source, alignment.target))


def link_rule(alignment: WordAlignment, linking: Linking = DEFAULT_LINKING, merged: str = "") -> LinkRule:
    """The rule that made the links of an alignment, if they are those that `linking` gives."""
    if alignment.linked_by == BY_ALIGNER:
        return LinkRule("by an aligner, not by attention", None)
    if merged:
        return LinkRule(f"both models, merged by {merged}", None)
    if alignment.links != hard_links(alignment.weights, alignment.end_of_sentence, linking):
        return LinkRule("", None)
    shares = link_shares(alignment.weights, linking).astype(float) if linking.compares_shares else None
    return LinkRule(linking.in_words, shares)


def heat_map_contents(picture: Picture) -> list[HeatMapContent]:
    """The heat maps of a pair: one, or several for a pair of more than `READABLE_WORDS` words on a side.

    Parts of a long pair without links and with little attention and erasure are left out, but for the strongest part of
    each target word's row.

    Raises:
        PlotError, AlignmentError: see `heatmap`.
    """
    _require_words(picture)
    fonts = find_fonts(picture.user_texts, stacklevel=5)
    whole = _content(picture, fonts)
    rows, columns = _blocks(len(whole.target)), _blocks(len(whole.source))
    if len(rows) == len(columns) == 1:
        return [whole]
    parts = [_part(whole, row, column) for row in rows for column in _notable(whole, row, columns)]
    total = len(rows) * len(columns)
    if len(parts) < total:
        lack = f"no link and no attention of {NOTABLE_ATTENTION:g}"
        if whole.erasure is not None:
            lack = f"no link, no attention of {NOTABLE_ATTENTION:g} and no fall or rise of {NOTABLE_FALL:g} nat"
        left_out = f"{len(parts)} of {total} parts are drawn: the others have {lack}"
        parts[0] = parts[0]._replace(title=f"{parts[0].title}. {left_out}")
    return parts


def _require_words(picture: Picture) -> None:
    alignment = picture.alignment
    for side, words in (("source", alignment.source), ("target", alignment.target)):
        if not words:
            raise PlotError(f"nothing to draw: the {side} has no words")
        if len(words) > MOST_WORDS:
            raise PlotError(f"the {side} has {len(words)} words: a heat map has room for {MOST_WORDS}")
    if picture.gold is not None:
        require_in_range(picture.gold, alignment.source, alignment.target, "gold links")


def _content(picture: Picture, fonts: list[str]) -> HeatMapContent:
    alignment, gold = picture.alignment, picture.gold
    rule = link_rule(alignment, picture.linking, picture.merged)
    legend = [(LINK, f"link: {rule.in_words}" if rule.in_words else LINK)] if alignment.links else []
    if gold is not None:
        legend += [(SURE, SURE)] if gold.sure else []
        legend += [(POSSIBLE, POSSIBLE)] if gold.possible - gold.sure else []
    return HeatMapContent(
        source=[printable(word) for word in alignment.source],
        target=[printable(word) for word in alignment.target],
        weights=alignment.weights,
        end_of_sentence=alignment.end_of_sentence,
        erasure=None if picture.erasure is None else erasure_matrix(picture.erasure, alignment),
        links=alignment.links,
        gold=gold,
        shares=rule.shares,
        right_to_left=right_to_left(alignment.source),
        title=picture.title,
        attention_title="" if picture.erasure is None else _ATTENTION_TITLE,
        erasure_title="" if picture.erasure is None else _ERASURE_TITLE,
        legend=legend,
        fonts=fonts,
    )


def _blocks(words: int) -> list[slice]:
    """Ranges of words of about equal length, none longer than `READABLE_WORDS`."""
    count = -(-words // READABLE_WORDS)
    edges = [words * number // count for number in range(count + 1)]
    return [slice(begin, end) for begin, end in zip(edges[:-1], edges[1:], strict=True)]


def _notable(whole: HeatMapContent, row: slice, columns: list[slice]) -> Iterator[slice]:
    """The blocks of source words that deserve a heat map beside a block of target words."""
    strongest = max(columns, key=lambda column: float(whole.weights[row, column].max()))
    for column in columns:
        notable = whole.weights[row, column].max() >= NOTABLE_ATTENTION or _links_in(whole.links, row, column)
        if whole.erasure is not None:
            notable = notable or np.abs(whole.erasure[row, column]).max() >= NOTABLE_FALL
        if notable or column == strongest:
            yield column


def _part(whole: HeatMapContent, row: slice, column: slice) -> HeatMapContent:
    """The heat map of some target words (rows) and some source words (columns)."""
    title = f"target words {_range(row)} of {len(whole.target)}, source words {_range(column)} of {len(whole.source)}"
    gold = whole.gold and Gold(*(_links_in(links, row, column) for links in whole.gold))
    return whole._replace(
        source=whole.source[column],
        target=whole.target[row],
        weights=whole.weights[row, column],
        end_of_sentence=whole.end_of_sentence[row],
        erasure=None if whole.erasure is None else whole.erasure[row, column],
        links=_links_in(whole.links, row, column),
        gold=gold,
        shares=None if whole.shares is None else whole.shares[row, column],
        title=f"{whole.title}: {title}" if whole.title else title,
    )


def _range(words: slice) -> str:
    return f"{words.start + 1}–{words.stop}"


def _links_in(links: Links, row: slice, column: slice) -> Links:
    """The links inside a part, counted from its first words."""
    return frozenset(
        (s - column.start, t - row.start)
        for s, t in links
        if column.start <= s < column.stop and row.start <= t < row.stop
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
