"""Alignments from the models of two directions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.alignment.symmetrizing import Symmetrization, symmetrize
from nmt.batches.windows import windows
from nmt.translation.result import Translation
from nmt.translation.translator import Translator


def symmetrized(
    pairs: Iterable[Translation],
    reverse: Translator,
    method: Symmetrization = "grow-diag-final-and",
    linking: Linking = DEFAULT_LINKING,
) -> Iterator[Translation]:
    """Yields the pairs with links made from both directions; their weights stay unchanged.

    Args:
        pairs: translations or aligned pairs of the source-target model; may be a stream.
        reverse: the model of the opposite direction; it aligns each pair with its sides exchanged.
        method: see `symmetrize`.
        linking: how the opposite direction's links follow from its attention.
    """
    for chunk in windows(pairs, Translator.chunk_size):
        exchanged = reverse.align([pair.text for pair in chunk], [pair.source for pair in chunk], linking)
        for pair, back in zip(chunk, exchanged, strict=True):
            # the two models may read different numbers of words
            backward = frozenset((s, t) for t, s in back.alignment.links if pair.alignment.has(s, t))
            links = symmetrize(pair.alignment.links, backward, method)
            yield replace(pair, alignment=replace(pair.alignment, links=links))
