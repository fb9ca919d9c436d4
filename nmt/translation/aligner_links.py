"""Links of translations from a word aligner, in place of those that follow from attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, repeat
from typing import Protocol

from nmt.alignment.hard_links import BY_ALIGNER
from nmt.alignment.word_alignment import WordAlignment
from nmt.batches.windows import windows
from nmt.translation.result import Translation, TranslationList


class PairAligner(Protocol):
    """Aligns the words of sentence pairs, as `nmt.Aligner` does."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides the links."""

    def align(self, pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Iterable[WordAlignment]: ...


def with_aligner_links(
    aligner: PairAligner | None,
    answers: Iterator[list[Translation]],
    chunk: int,
    wanted: Iterable[bool] = repeat(True),
) -> Iterator[list[Translation]]:
    """The translations with the links of an aligner between their words. The weights are still those of attention.

    Args:
        aligner: None leaves the translations as they are.
        answers: the translations of each sentence. Those with links of an aligner keep their links.
        chunk: sentences whose translations are aligned together.
        wanted: for each sentence, whether an aligner makes the links of its translations.
    """
    if aligner is None:
        yield from answers
        return
    for window in windows(zip(answers, wanted, strict=False), chunk):
        aligned = iter(linked([one for translations, wants in window if wants for one in translations], aligner))
        for translations, wants in window:
            yield TranslationList(islice(aligned, len(translations))) if wants else translations


def linked(translations: Sequence[Translation], aligner: PairAligner) -> list[Translation]:
    """The translations with the links of an aligner, see `with_aligner_links`."""
    waiting = [one.alignment for one in translations if one.alignment.linked_by != BY_ALIGNER]
    found = iter(aligner.align((alignment.source, alignment.target) for alignment in waiting))
    return [one if one.alignment.linked_by == BY_ALIGNER else _with_links(one, next(found)) for one in translations]


def _with_links(translation: Translation, found: WordAlignment) -> Translation:
    """The translation with other links; with its own if the aligner reads other words, as pieces of a run may."""
    ours = translation.alignment
    if (ours.source, ours.target) != (found.source, found.target):
        return translation
    return replace(translation, alignment=replace(ours, links=found.links, linked_by=BY_ALIGNER))
