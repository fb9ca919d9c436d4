"""Links of translations from a word aligner, in place of those that follow from attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Protocol

from nmt.alignment.word_alignment import WordAlignment
from nmt.batches.windows import windows
from nmt.translation.result import Translation, TranslationList


class PairAligner(Protocol):
    """Aligns the words of sentence pairs, as `nmt.Aligner` does."""

    def align(self, pairs: Iterable[tuple[str, str]]) -> Iterable[WordAlignment]: ...


def with_aligner_links(
    aligner: PairAligner | None, answers: Iterator[list[Translation]], chunk: int
) -> Iterator[list[Translation]]:
    """The translations with the links of an aligner.

    A translation keeps its own links if the aligner reads other words, as in a sentence that was cut. The weights are
    still those of attention.

    Args:
        aligner: None leaves the translations as they are.
        answers: the translations of each request.
        chunk: requests whose translations are aligned together.
    """
    if aligner is None:
        yield from answers
        return
    for window in windows(answers, chunk):
        flat = list(chain.from_iterable(window))
        aligned = iter(_linked(flat, aligner))
        for translations in window:
            yield TranslationList(islice(aligned, len(translations)))


def _linked(translations: Sequence[Translation], aligner: PairAligner) -> Iterator[Translation]:
    found = aligner.align((one.source, one.text) for one in translations)
    for one, other in zip(translations, found, strict=True):
        ours = one.alignment
        if (ours.source, ours.target) == (other.source, other.target):
            one = replace(one, alignment=replace(ours, links=other.links))
        yield one
