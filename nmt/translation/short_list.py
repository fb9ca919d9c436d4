"""Short lists: the target pieces that a source sentence probably needs, from a lexical table (IBM model 1)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmt.batches.arrays import Sequences
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.training_pairs import sides_of, training_pairs
from nmt.text.pieces import EOS, PAD, UNK

KEPT = 100
"""Translations that the table holds for each source piece."""

ROUNDS = 5
"""Iterations of expectation maximisation; five are usual for model 1."""

MOST_LINKS = 16 * 2**20
"""Possible links between source and target pieces that are learned from, about 40 bytes each. A larger corpus is
sampled evenly."""

FREQUENT = 10
"""Frequent pieces in every list, for each translation of a piece that the setting `short_list` allows."""

MULTIPLE = 64
"""The width of a batch's lists is a multiple of this number, so that a compiler of fixed shapes sees few shapes."""


class BatchLists(NamedTuple):
    """The short lists of the sentences of a batch."""

    pieces: np.ndarray
    """int32 [width]: the pieces in the list of any sentence, in rising order, padded at the beginning."""
    allowed: np.ndarray
    """bool [sentences, width]: whether a piece is in the list of a sentence; PAD is in no list."""


@dataclass(frozen=True)
class ShortList:
    """The table that short lists are made from: translations of each source piece, and frequent target pieces (Jean et
    al. 2015, "On Using Very Large Target Vocabulary for Neural Machine Translation", candidate lists).

    Attributes:
        translations: the most probable translations of each source piece, best first, padded at the end, int32 [source
            pieces, `KEPT`].
        frequent: target pieces by falling frequency, padded at the end, int32 [target pieces].
        shared: whether source and target have one vocabulary, so that source pieces can be copied.
    """

    translations: np.ndarray
    frequent: np.ndarray
    shared: bool

    @classmethod
    def of_run(cls, run: Run) -> ShortList:
        """The table of a run. It is learned from the training pairs once, and saved if the run is writable.

        Raises:
            RunError: the training pairs are gone, or the saved table is damaged.
        """
        if not run.has_short_list:
            run.storage.require_inside("corpus")
            try:
                corpus = training_pairs(run.directory, run.config)
            except (OSError, NmtError):
                raise RunError(
                    f"{run.directory} has neither {run.short_list.name} nor the training pairs (corpus/) that it is "
                    "made from: search without a short list"
                ) from None
            run.storage.require_folder("corpus")
            corpus.require_ids(run.source.size, run.target.size)
            shared = run.config.vocabulary.shared
            learned = cls.learn(*sides_of(corpus), run.source.size, run.target.size, shared)
            with suppress(OSError):  # a run that cannot be written
                run.save_short_list({"translations": learned.translations, "frequent": learned.frequent})
            return learned
        try:
            arrays = run.load_short_list()
            table = cls(arrays["translations"], arrays["frequent"], run.config.vocabulary.shared)
            table._require_sizes(run.source.size, run.target.size)
            return table
        except (RunError, KeyError):
            raise RunError(f"{run.short_list}: damaged; delete it, and it is learned again") from None

    def _require_sizes(self, source_size: int, target_size: int) -> None:
        """Refuses a table whose shapes or pieces do not fit the vocabularies."""
        shapes = self.translations.shape, self.frequent.shape
        ids = np.concatenate([self.translations.ravel(), self.frequent.ravel()])
        fits = shapes == ((source_size, KEPT), (target_size,)) and ids.dtype.kind in "iu"
        if not fits or ids.min() < 0 or ids.max() >= target_size:
            raise RunError("the table belongs to other vocabularies")

    @classmethod
    def learn(cls, source: Sequences, target: Sequences, source_size: int, target_size: int, shared: bool) -> ShortList:
        """Learns the table from training pairs.

        The probabilities are t(target piece | source piece) of model 1 (Brown et al. 1993, section 4.1). Each target
        piece comes from one piece of its source sentence or from none, here PAD; all are equally probable at first.

        Args:
            source, target: pieces of the pairs.
            source_size, target_size: sizes of the vocabularies.
            shared: whether there is one vocabulary.
        """
        chosen = _spread(source.lengths, target.lengths)
        from_ids, from_lengths = source.gather(chosen)
        ids, lengths = target.gather(chosen)
        # Each source sentence begins with PAD, the origin of target pieces without a source piece.
        from_ids = np.insert(from_ids, np.cumsum(from_lengths) - from_lengths, PAD)
        from_lengths = from_lengths + 1
        choices = np.repeat(from_lengths, lengths)  # possible origins of each target piece
        token = np.repeat(np.arange(len(ids), dtype=np.int32), choices)
        first = np.repeat(np.cumsum(from_lengths) - from_lengths, lengths) - (np.cumsum(choices) - choices)
        position = np.repeat(first, choices) + np.arange(len(token))
        cells, cell = np.unique(from_ids[position].astype(np.int64) * target_size + ids[token], return_inverse=True)
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
    ) -> BatchLists:
        """The short lists of some sentences.

        A list holds translations of the sentence's pieces, frequent pieces, the unknown piece and the end of sentence.
        It does not depend on the other sentences of the batch.

        Args:
            sources, rows: all sentences, and the indices of those to make lists for.
            count: translations of each piece, at most `KEPT`; frequent pieces are `FREQUENT` times as many.
            needed: more pieces for the list of each sentence.
            least: smallest width of the result.
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
        width = -(-max(len(pieces), least) // MULTIPLE) * MULTIPLE
        pieces = np.pad(pieces, (width - len(pieces), 0), constant_values=PAD)
        return BatchLists(pieces, allowed[:, pieces])


def _spread(source_lengths: np.ndarray, target_lengths: np.ndarray) -> np.ndarray:
    """Indices of the pairs to learn from: all pairs, or an even sample with about `MOST_LINKS` possible links.

    Pairs with more links alone, which no training has, are left out.
    """
    links = (source_lengths + 1) * target_lengths
    usable = np.flatnonzero(links <= MOST_LINKS)
    links = int(links[usable].sum())
    count = len(usable) if links <= MOST_LINKS else max(1, len(usable) * MOST_LINKS // links)
    return usable[np.arange(count) * len(usable) // count] if count else usable


def _best(of_source: np.ndarray, piece: np.ndarray, chance: np.ndarray, source_size: int) -> np.ndarray:
    """The most probable translations of each source piece; see `ShortList.translations`.

    Args:
        of_source, piece, chance: source piece, target piece and probability of each entry.
        source_size: size of the source vocabulary.
    """
    order = np.lexsort((-chance, of_source))
    of_source, piece = of_source[order], piece[order]
    rank = np.arange(len(order)) - np.searchsorted(of_source, of_source)
    kept = rank < KEPT
    best = np.full((source_size, KEPT), PAD, np.int32)
    best[of_source[kept], rank[kept]] = piece[kept]
    return best
