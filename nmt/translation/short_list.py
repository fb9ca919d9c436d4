"""Which target pieces a source sentence is likely to need: a lexical table of its pieces (IBM model 1). NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmt.batches.arrays import Sequences
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.errors import NmtError
from nmt.files.atomic_writing import replacement_for
from nmt.run.arrays import load_arrays, save_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.text.pieces import EOS, PAD, UNK

KEPT = 100
"""Translations of a piece that a table holds."""
ROUNDS = 5
"""Of expectation maximisation, as is usual for model 1."""
MOST_LINKS = 16 * 2**20
"""Pairs of a source and a target piece of one sentence pair that are learned from; more pairs than give these are
passed over evenly. Each takes about 40 bytes meanwhile."""
FREQUENT = 10
"""Frequent pieces that every list holds for each translation of a piece."""
MULTIPLE = 64
"""Places of a batch are padded to a multiple of it, so that a compiler that fixes shapes sees few."""


class Lists(NamedTuple):
    """The short lists of a batch's sentences."""

    pieces: np.ndarray
    """Those in the list of any sentence, rising, PAD before them, int32 [places]."""
    allowed: np.ndarray
    """Which of these are in a sentence's own list, bool [sentences, places]; PAD is in none."""


@dataclass(frozen=True)
class ShortList:
    """Translations of each source piece, and the target pieces that any sentence may need (Jean et al. 2015, On Using
    Very Large Target Vocabulary for Neural Machine Translation, where decoding has candidate lists).

    Attributes:
        translations: the likeliest of each source piece, likeliest first, PAD behind the end, int32 [source pieces,
            `KEPT`].
        frequent: target pieces by how often they come, most frequent first, PAD behind the end, int32 [target pieces].
        shared: whether source pieces are target pieces too, so that they can be copied.
    """

    translations: np.ndarray
    frequent: np.ndarray
    shared: bool

    @classmethod
    def of_run(cls, run: Run) -> ShortList:
        """The table of a run's training pairs. It is learned once, and kept in the run where that can be written to.

        Raises:
            RunError: the run has no training pairs any more, or its table is damaged.
        """
        if not run.short_list.exists():
            try:
                corpus = EncodedCorpus(run.directory / "corpus")
            except (OSError, NmtError):
                raise RunError(
                    f"{run.directory} has neither {run.short_list.name} nor the training pairs (corpus/) that it is "
                    "made from: search without a short list"
                ) from None
            shared = run.config.vocabulary.shared
            learned = cls.learn(corpus.source, corpus.target, run.source.size, run.target.size, shared)
            # Under a name of its own until it is whole: several commands may learn it at once.
            with suppress(RunError), replacement_for(run.short_list, RunError) as place:
                save_arrays(place, {"translations": learned.translations, "frequent": learned.frequent})
            return learned
        try:
            arrays = load_arrays(run.short_list)
            return cls(arrays["translations"], arrays["frequent"], run.config.vocabulary.shared)
        except (RunError, KeyError):
            raise RunError(f"{run.short_list}: damaged; delete it, and it is made again") from None

    @classmethod
    def learn(cls, source: Sequences, target: Sequences, source_size: int, target_size: int, shared: bool) -> ShortList:
        """The table of these training pairs.

        t(target piece | source piece) of model 1 (Brown et al. 1993, section 4.1): each target piece comes from one
        piece of its source sentence, or from none (here: PAD), all equally likely beforehand.

        Args:
            source, target: pieces of the pairs.
            source_size, target_size: pieces of the vocabularies.
            shared: whether these are one.
        """
        chosen = _spread(source.lengths, target.lengths)
        from_ids, from_lengths = source.gather(chosen)
        ids, lengths = target.gather(chosen)
        # PAD before each source sentence.
        from_ids = np.insert(from_ids, np.cumsum(from_lengths) - from_lengths, PAD)
        from_lengths = from_lengths + 1
        choices = np.repeat(from_lengths, lengths)  # source pieces that a target piece may come from
        token = np.repeat(np.arange(len(ids), dtype=np.int32), choices)
        first = np.repeat(np.cumsum(from_lengths) - from_lengths, lengths) - (np.cumsum(choices) - choices)
        place = np.repeat(first, choices) + np.arange(len(token))
        cells, cell = np.unique(from_ids[place].astype(np.int64) * target_size + ids[token], return_inverse=True)
        of_source = cells // target_size
        chance = np.ones(len(cells))
        for _ in range(ROUNDS):
            share = chance[cell]
            share /= np.bincount(token, share)[token]
            counts = np.bincount(cell, share)
            chance = counts / np.bincount(of_source, counts)[of_source]
        frequency = np.bincount(ids, minlength=target_size)
        order = np.argsort(-frequency, kind="stable")
        frequent = np.where(frequency[order] > 0, order, PAD).astype(np.int32)
        return cls(_best(of_source, cells % target_size, chance, source_size), frequent, shared)

    def of(
        self, sources: Sequences, rows: np.ndarray, count: int, needed: Sequence[Sequence[int]], least: int = 0
    ) -> Lists:
        """The lists of some sentences: each one's pieces' translations, frequent pieces, the unknown one and the end.

        What is in a sentence's list does not depend on the others.

        Args:
            sources, rows: which sentences.
            count: translations of each piece, at most `KEPT`; frequent pieces are `FREQUENT` times as many.
            needed: pieces that a sentence's list has to hold besides.
            least: places that there have to be.
        """
        allowed = np.zeros((len(rows), len(self.frequent)), bool)
        allowed[:, [UNK, EOS]] = True
        allowed[:, self.frequent[: FREQUENT * count]] = True
        ids, lengths = sources.gather(rows)
        row = np.repeat(np.arange(len(rows)), lengths)
        allowed[row[:, None], self.translations[ids, :count]] = True
        if self.shared:
            allowed[row, ids] = True
        for list_of_one, more in zip(allowed, needed, strict=True):
            list_of_one[[*more]] = True
        allowed[:, PAD] = False
        pieces = np.flatnonzero(allowed.any(axis=0)).astype(np.int32)
        places = -(-max(len(pieces), least) // MULTIPLE) * MULTIPLE
        pieces = np.pad(pieces, (places - len(pieces), 0), constant_values=PAD)
        return Lists(pieces, allowed[:, pieces])


def _spread(source_lengths: np.ndarray, target_lengths: np.ndarray) -> np.ndarray:
    """Indices of the pairs to learn from: all, or evenly spread ones that have about `MOST_LINKS` links."""
    links = int(((source_lengths + 1) * target_lengths).sum())
    count = len(source_lengths) if links <= MOST_LINKS else max(1, len(source_lengths) * MOST_LINKS // links)
    return np.arange(count) * len(source_lengths) // count


def _best(of_source: np.ndarray, piece: np.ndarray, chance: np.ndarray, source_size: int) -> np.ndarray:
    """The likeliest pieces of each source piece, see `ShortList.translations`."""
    order = np.lexsort((-chance, of_source))
    of_source, piece = of_source[order], piece[order]
    rank = np.arange(len(order)) - np.searchsorted(of_source, of_source)
    kept = rank < KEPT
    best = np.full((source_size, KEPT), PAD, np.int32)
    best[of_source[kept], rank[kept]] = piece[kept]
    return best
