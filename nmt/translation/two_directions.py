"""Alignments from the models of two directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.alignment.symmetrizing import Symmetrization, symmetrize
from nmt.alignment.word_alignment import WordAlignment
from nmt.batches.windows import windows
from nmt.translation.result import Translation
from nmt.translation.translator import Translator

_WARNING = (
    "warning: line {}: the two directions cut it into different words, so it keeps the links of the first; so do later "
    "lines like it. Lines that are translated whole (--split-sentences never) have the same words in both"
)


def symmetrized(
    pairs: Iterable[Translation],
    reverse: Translator,
    method: Symmetrization = "grow-diag-final-and",
    linking: Linking = DEFAULT_LINKING,
    say: Callable[[str], None] | None = None,
) -> Iterator[Translation]:
    """Yields the pairs with links made from both directions; their weights stay unchanged.

    A pair that the two directions cut into different words keeps its links. In a language without spaces the words at
    the ends of sentences can differ: one direction translated them one by one, the other reads the whole line.

    Args:
        pairs: translations or aligned pairs of the source-target model; may be a stream.
        reverse: the model of the opposite direction; it aligns each pair with its sides exchanged.
        method: see `symmetrize`.
        linking: how the opposite direction's links follow from its attention.
        say: takes one warning, about the first pair that keeps its links.
    """
    read = 0
    for chunk in windows(pairs, Translator.chunk_size):
        exchanged = reverse.align([pair.text for pair in chunk], [pair.source for pair in chunk], linking)
        for number, (pair, back) in enumerate(zip(chunk, exchanged, strict=True), read + 1):
            if not _same_words(pair.alignment, back.alignment):
                if say is not None:
                    say(_WARNING.format(number))
                    say = None
                yield pair
                continue
            # the two models may read different numbers of words
            backward = frozenset((s, t) for t, s in back.alignment.links if pair.alignment.has(s, t))
            links = symmetrize(pair.alignment.links, backward, method)
            yield replace(pair, alignment=replace(pair.alignment, links=links))
        read += len(chunk)


def _same_words(forward: WordAlignment, backward: WordAlignment) -> bool:
    """Whether the words that both directions read are the same."""
    sides = ((forward.source, backward.target), (forward.target, backward.source))
    return all(_begin_alike(first, second) for first, second in sides)


def _begin_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    both = min(len(first), len(second))
    return first[:both] == second[:both]
