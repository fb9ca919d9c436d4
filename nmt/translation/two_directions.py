"""Alignments from the models of two directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from operator import eq

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.alignment.links import Link
from nmt.alignment.symmetrizing import Symmetrization, symmetrize
from nmt.alignment.word_alignment import WordAlignment
from nmt.batches.windows import windows
from nmt.translation.result import Translation
from nmt.translation.translator import Translator

_WARNING = (
    "warning: line {}: the two directions read different text, so it keeps the links of the first; so do later lines "
    "like it"
)


def symmetrized(
    pairs: Iterable[Translation],
    reverse: Translator,
    method: Symmetrization = "grow-diag-final-and",
    linking: Linking = DEFAULT_LINKING,
    say: Callable[[str], None] | None = None,
) -> Iterator[Translation]:
    """Yields the pairs with links made from both directions; their weights stay unchanged.

    In a language without spaces the two directions can cut the ends of sentences into different words: one direction
    translated the sentences one by one, the other reads the whole line. A link of the opposite direction then counts
    for each word that shares a character with its words. A pair with other characters on a side keeps its links.

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
            backward = _backward_links(pair.alignment, back.alignment)
            if backward is None:
                if say is not None:
                    say(_WARNING.format(number))
                    say = None
                yield pair
                continue
            links = symmetrize(pair.alignment.links, backward, method)
            yield replace(pair, alignment=replace(pair.alignment, links=links))
        read += len(chunk)


def _backward_links(forward: WordAlignment, backward: WordAlignment) -> frozenset[Link] | None:
    """The links of the opposite direction between the words of this one; None if the directions read different text.

    The two models may read different numbers of words.
    """
    sources = _shared_characters(backward.target, forward.source)
    targets = _shared_characters(backward.source, forward.target)
    if sources is None or targets is None:
        return None
    links = (pair for t, s in backward.links for pair in product(sources[s], targets[t]))
    return frozenset((s, t) for s, t in links if forward.has(s, t))


def _shared_characters(words: Sequence[str], others: Sequence[str]) -> list[list[int]] | None:
    """For each word, the numbers of the other words that have a character of it; None for different text.

    One side may end before the other.
    """
    if all(map(eq, words, others)):
        return [[number] if number < len(others) else [] for number in range(len(words))]
    first, second = _owners(words), _owners(others)
    both = min(len(first), len(second))
    if "".join(words)[:both] != "".join(others)[:both]:
        return None
    shared: list[list[int]] = [[] for _ in words]
    for number, other in dict.fromkeys(zip(first, second, strict=False)):
        shared[number].append(other)
    return shared


def _owners(words: Sequence[str]) -> list[int]:
    """The number of the word that has each character of the text."""
    return [number for number, word in enumerate(words) for _ in word]
